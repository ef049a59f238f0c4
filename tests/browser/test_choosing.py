"""Choosing a side: with any passage or key, changed at will, shown by more than colour, and without JavaScript."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from experiment.models import Study
from tests.browser.drivers import NoScriptDriver
from tests.browser.visitor import Answer, Visitor, other

Visit = Callable[..., Visitor]
LOOK = """nodes => nodes.map(node => {
  const style = getComputedStyle(node), text = getComputedStyle(node.querySelector(".passage-text"));
  return [style.color, style.backgroundColor, text.textDecorationStyle].join(" | ");
})"""


def passages(page: Page, side: str) -> Locator:
    return page.locator(f"label.passage-{side.lower()}")


def look(page: Page, side: str) -> str:
    """How the side's passages look: all the same, or the test fails."""
    looks = set(passages(page, side).evaluate_all(LOOK))
    assert len(looks) == 1
    return looks.pop()


def abstract_with_several_passages(visitor: Visitor) -> Visitor:
    visitor.start()
    trial = visitor.trial
    taken = visitor.participant.trials.values("item")
    items = visitor.study.items.filter(kind="test").exclude(pk__in=taken)
    trial.item = max(items, key=lambda item: item.markup.count("[["))
    trial.save()
    visitor.page.reload()
    assert passages(visitor.page, "A").count() >= 3
    return visitor


@pytest.mark.parametrize(
    "driver", [None, NoScriptDriver], ids=["with JavaScript", "without JavaScript"]
)
def test_one_click_on_any_passage_chooses_all_passages_of_its_side(
    visit: Visit, demo: Study, driver: type[NoScriptDriver] | None
) -> None:
    visitor = visit(demo, NoScriptDriver, java_script_enabled=False) if driver else visit(demo)
    page = abstract_with_several_passages(visitor).page
    before = {side: look(page, side) for side in "AB"}
    assert visitor.chosen() == ""
    for passage in range(passages(page, "A").count()):
        for side in "AB":
            visitor.driver.choose(side, passage)
            assert visitor.chosen() == side
            # The chosen side stands out, the other recedes, and neither looks as it did before.
            assert len({look(page, "A"), look(page, "B"), *before.values()}) == 4


def test_a_side_is_told_by_its_letter_and_its_underline_too(visit: Visit, demo: Study) -> None:
    page = visit(demo).start().page
    for chosen in ("", "A", "B"):
        if chosen:
            page.keyboard.press(chosen)
        styles = {side: look(page, side).split(" | ")[2] for side in "AB"}
        assert styles == {"A": "solid", "B": "dashed"}
        for side in "AB":
            expect(passages(page, side).first).to_contain_text(side)


def test_a_click_keeps_the_page_where_it_is(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, viewport={"width": 360, "height": 500}).start()
    for side in "AB":
        passage = passages(visitor.page, side).first
        passage.scroll_into_view_if_needed()
        before = visitor.page.evaluate("scrollY")
        passage.click()
        assert visitor.page.evaluate("scrollY") == before


@pytest.mark.parametrize(
    ("key", "side"), [("a", "A"), ("A", "A"), ("1", "A"), ("b", "B"), ("B", "B"), ("2", "B")]
)
def test_a_key_chooses_a_side(visit: Visit, demo: Study, key: str, side: str) -> None:
    visitor = visit(demo).practice()
    visitor.page.keyboard.press(key)
    assert visitor.chosen() == side
    expect(visitor.page.locator("#choice-status")).to_have_text(f"Side {side} chosen")


def test_shortcut_keys_can_be_switched_off_for_good(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.page.get_by_role("switch").uncheck()
    visitor.page.keyboard.press("a")
    assert visitor.chosen() == ""
    visitor.answer("B")
    visitor.page.keyboard.press("a")
    assert visitor.chosen() == ""


def test_keys_that_mean_something_else_choose_nothing(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    for key in ("Control+a", "Alt+b", "c", "3", "Enter"):
        visitor.page.keyboard.press(key)
    assert visitor.chosen() == ""


def test_a_choice_may_be_changed_until_it_is_sent_and_changes_are_counted(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.read_for(10_000)
    for side in "ABBA":
        visitor.driver.choose(side)
    visitor.read_for(10_000)
    visitor.driver.choose("B")
    visitor.read_for(10_000)
    visitor.answer("B")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes) == ("B", 3)  # A, then B, A and B
    # The first choice is timed, not the last.
    assert 10_000 <= judgment.rt_choice_ms < 20_000
    assert 30_000 <= judgment.rt_ms < 45_000


def test_nothing_goes_on_without_a_choice(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.answer_recognised()
    visitor.go_on()
    expect(visitor.page.locator("#error-summary")).to_be_focused()
    expect(visitor.page.locator("#question")).to_have_attribute("aria-invalid", "true")
    visitor.page.locator("#error-summary").get_by_role("link").click()
    expect(visitor.page.locator("#side-a")).to_be_focused()
    assert visitor.judgments() == []
    visitor.answer()
    assert len(visitor.judgments()) == 1


def test_without_javascript_too_nothing_goes_on_without_a_choice(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, NoScriptDriver, java_script_enabled=False).start()
    visitor.driver.rate("confidence", 44)
    visitor.go_on()
    expect(visitor.page.locator("#side-error")).to_be_visible()
    expect(visitor.page.locator("#recognised-error")).to_be_visible()
    assert visitor.page.locator("#confidence").input_value() == "44"
    assert visitor.judgments() == []
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["B"]


def test_a_screen_reader_hears_the_question_and_each_side_with_its_passages(
    visit: Visit, demo: Study
) -> None:
    visitor = abstract_with_several_passages(visit(demo))
    question = re.compile("^Which version of this abstract is the original")
    group = visitor.page.get_by_role("radiogroup", name=question)
    expect(group).to_be_visible()
    trial = visitor.trial
    alternations = [s for s in trial.item.segments if hasattr(s, "altered")]
    for side in (trial.original_side, other(trial.original_side)):
        version = "original" if side == trial.original_side else "altered"
        passages = [re.escape(getattr(s, version).strip()) for s in alternations]
        name = re.compile(rf"^Side {side}\W+" + r"\W+".join(passages) + r"\W*$")
        expect(group.get_by_role("radio", name=name)).to_have_count(1)


def test_marking_text_with_the_mouse_chooses_nothing(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    box = passages(visitor.page, "A").first.bounding_box()
    assert box is not None
    visitor.page.mouse.move(box["x"] + 30, box["y"] + 12)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + 90, box["y"] + 12, steps=4)
    visitor.page.mouse.up()
    assert visitor.chosen() == ""


def test_a_side_may_be_chosen_by_its_card(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.page.locator(".side-card-b").click()
    assert visitor.chosen() == "B"
    given = visitor.answer("B")
    assert given == Answer("B", given.confidence, given.expertise)


def test_messages_go_when_what_they_speak_of_is_mended(demo: Study, visit: Visit) -> None:
    visitor = visit(demo).start()
    visitor.go_on()
    summary = visitor.page.locator("#error-summary")
    expect(summary).to_be_visible()
    visitor.page.keyboard.press("b")
    expect(summary).to_be_visible()  # the other question is still open
    visitor.answer_recognised()
    expect(summary).to_be_hidden()
    expect(visitor.page.locator(".field-error")).to_have_count(0)
