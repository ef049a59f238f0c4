"""Pages tell nothing of which side is the original before the debrief, which tells all."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import APIResponse, Route, expect

from experiment.models import Participant, Study, Trial
from tests.browser.visitor import Visitor, other

Visit = Callable[..., Visitor]
# What differs from load to load, and says nothing.
ONE_USE = re.compile(r'(name="(?:csrfmiddlewaretoken|idempotency_key)" value=|nonce=)"[^"]*"')
PASSAGE = re.compile(r'(<span class="passage-text"[^>]*>)([^<]*)')
ABSTRACT = re.compile(r'<p class="abstract"[^>]*>.*?</p>', re.DOTALL)


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


def test_after_the_scripts_have_run_the_page_still_does_not_tell(visit: Visit, demo: Study) -> None:
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


def test_the_answer_to_an_answer_does_not_tell_whether_it_was_right(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
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


Visit = Callable[..., Visitor]


def at_the_debrief(visit: Visit, study: Study) -> tuple[Visitor, Trial]:
    """Who answered one abstract."""
    visitor = visit(study).start()
    trial = visitor.trial
    visitor.answer("A")
    Participant.objects.update(stage="debrief")
    visitor.enter()
    visitor.is_at("debrief")
    return visitor, trial


def test_attention_checks_are_spoken_of_only_where_there_were_some(
    visit: Visit, demo: Study
) -> None:
    visitor, _ = at_the_debrief(visit, demo)
    spoken = visitor.page.get_by_text("only checked attention")
    for stratum, listed in (("human", 1), ("catch", 0)):
        Trial.objects.filter(position=1).update(stratum=stratum)
        visitor.page.reload()
        expect(visitor.page.locator(".result")).to_have_count(listed)
        expect(spoken).to_have_count(1 - listed)
    expect(spoken).to_contain_text("one that only checked attention is not listed.")


def test_both_wordings_are_shown_and_named(visit: Visit, demo: Study) -> None:
    Study.objects.update(debrief_catch_trials=True)  # whichever the first abstract is
    visitor, trial = at_the_debrief(visit, demo)
    visitor.page.locator(".result summary").click()
    abstract = visitor.page.locator(".result .abstract")
    alternations = trial.item.abstract.alternations
    for kind, wordings in (
        ("original", [a.original for a in alternations]),
        ("changed", [a.altered for a in alternations]),
    ):
        shown = abstract.locator(f".wording-{kind}")
        assert shown.locator(".wording-text").all_text_contents() == wordings
        expect(shown.first.locator(".wording-tag")).to_have_text(kind)
        expect(shown.first).to_be_visible()
