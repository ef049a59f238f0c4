"""Pages tell nothing of which side is the original before the debrief."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import APIResponse, Route

from experiment.models import Study, Trial
from tests.browser.visitor import Visitor, other

Visit = Callable[..., Visitor]
# What differs from load to load, and says nothing.
ONE_USE = re.compile(r'(name="(?:csrfmiddlewaretoken|idempotency_key)" value=|nonce=)"[^"]*"')
PASSAGE = re.compile(r'(<span class="passage-text"[^>]*>)([^<]*)')
ABSTRACT = re.compile(r'<p class="abstract notranslate"[^>]*>.*?</p>', re.DOTALL)


def skeleton(source: str) -> tuple[str, list[str]]:
    """The page without its passages and what is new at every load; and the passages."""
    source = ONE_USE.sub(r"\1", source)
    return PASSAGE.sub(r"\1", source), [text for _, text in PASSAGE.findall(source)]


def headers(response: APIResponse) -> dict[str, str]:
    changing = ("date", "expires", "set-cookie", "content-length", "x-request-id")
    return {
        k: re.sub("'nonce-[^']*'", "", v)
        for k, v in response.headers.items()
        if k.lower() not in changing
    }


def test_the_page_is_the_same_whichever_side_is_the_original(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    items = list(demo.items.exclude(kind="practice"))
    assert len(items) >= 30
    request = visitor.page.context.request
    for item in items:
        seen = {}
        for side in "AB":
            Trial.objects.update(item=item, original_side=side)
            response = request.get(visitor.page.url)
            seen[side] = (*skeleton(response.text()), headers(response), len(response.text()))
        assert seen["A"][0] == seen["B"][0]
        assert seen["A"][2:] == seen["B"][2:]
        # The passages change places, in pairs, and that is all.
        swapped = [
            text
            for pair in zip(seen["B"][1][1::2], seen["B"][1][::2], strict=True)
            for text in pair
        ]
        assert seen["A"][1] == swapped
        outside = ABSTRACT.sub("", seen["A"][0]).lower()
        for word in ("original_side", "correct", "altered", "doi", "human", "machine", "catch"):
            assert word not in outside
        assert item.key not in outside
        assert not item.doi or item.doi.lower() not in outside


def test_neither_what_scripts_make_of_the_page_nor_the_answer_to_an_answer_tells(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    pages = []
    for side in "AB":
        Trial.objects.update(original_side=side)
        visitor.forget()
        visitor.page.reload()
        visitor.is_at("trial/1")
        assert visitor.chosen() == ""
        visitor.driver.choose("A")
        pages.append(skeleton(visitor.page.content())[0])
    assert pages[0] == pages[1]
    answers: list[dict[str, str]] = []

    def listen(route: Route) -> None:
        response = route.fetch(max_redirects=0)
        if route.request.method == "POST":
            answers.append(json.loads(response.text()))
        route.fulfill(response=response)

    visitor.page.route("**/trial/**", listen)
    for position in (1, 2):
        original = visitor.trial.original_side
        visitor.answer(original if position == 1 else other(original))
    assert [set(answer) for answer in answers] == [{"next", "page"}] * 2
    assert [answer["next"] for answer in answers] == [f"{visitor.home}trial/{n}/" for n in (2, 3)]
    # The page is the one that asking for it shows
    shown = visitor.page.context.request.get(answers[1]["next"]).text()
    assert skeleton(answers[1]["page"]) == skeleton(shown)
    assert [judgment.correct for judgment in visitor.judgments()] == [True, False]
