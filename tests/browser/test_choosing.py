"""Choosing a side: with any passage or key, changed at will, shown by more than colour, and without JavaScript."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from experiment.models import Study
from tests.browser import engines
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


def test_a_key_chooses_a_side(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).practice()
    for key in "ab12AB":  # each a change
        visitor.page.keyboard.press(key)
        side = {"1": "A", "2": "B"}.get(key, key.upper())
        assert visitor.chosen() == side, key
        expect(visitor.page.locator("#choice-status")).to_contain_text(f"Side {side} chosen")


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
    visitor.read_for(100_000)
    for side in "ABBA":
        visitor.driver.choose(side)
    visitor.read_for(100_000)
    visitor.driver.choose("B")
    visitor.read_for(100_000)
    visitor.answer("B")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes) == ("B", 3)  # A, then B, A and B
    # The first choice is timed, not the last.
    assert 100_000 <= judgment.rt_choice_ms < 200_000
    assert 300_000 <= judgment.rt_ms < 400_000


@engines.both
def test_shortcut_keys_leave_the_answer_alone_while_another_control_has_the_focus(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    page = visitor.page
    page.keyboard.press("1")  # no control has the focus
    assert visitor.chosen() == "A"
    controls = (
        page.locator("#confidence"),
        page.locator("#expertise"),
        page.locator("#recognised-no"),
        page.locator("#shortcuts-on"),
        visitor.button("only A"),
        visitor.button("Continue"),
    )
    for control in controls:
        control.focus()
        for key in ("2", "b", "B"):
            page.keyboard.press(key)
            assert visitor.chosen() == "A", control
    assert visitor.rating("confidence") == ""
    page.locator("#side-a").focus()
    page.keyboard.press("2")  # on the side cards
    assert visitor.chosen() == "B"
    page.locator(".abstract").click(position={"x": 4, "y": 4})
    page.keyboard.press("a")
    assert visitor.chosen() == "A"


@engines.both
def test_the_chosen_side_stays_in_sight_in_its_colour_beside_the_ratings(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo, viewport={"width": 360, "height": 420}).start()
    page = visitor.page
    shown = page.locator(".chosen:visible")
    expect(shown).to_have_count(0)
    for side in "AB":
        visitor.driver.choose(side)
        page.locator("#recognised-no").scroll_into_view_if_needed()
        expect(shown).to_have_text(f"You chose: Side {side}")
        expect(shown).to_be_in_viewport(ratio=1)
        colour = "node => getComputedStyle(node).backgroundColor"
        assert shown.locator(".key").evaluate(colour) == passages(page, side).first.evaluate(colour)


@engines.both
def test_ratings_open_with_the_choice(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    page = visitor.page
    later, ratings = page.locator("#ratings-later"), page.locator("#confidence, #recognised-no")
    expect(later).to_be_visible()
    expect(ratings.locator("visible=true")).to_have_count(0)
    visitor.driver.choose("B")
    expect(later).to_be_hidden()
    expect(ratings.locator("visible=true")).to_have_count(2)
    page.reload()
    visitor.is_at("trial/1")
    expect(ratings.locator("visible=true")).to_have_count(2)


GAPS = """() => [...document.querySelectorAll(".alternation")].flatMap(alternation => {
  const next = alternation.nextSibling;
  if (!next || !/^[.,;:)]/.test(next.textContent)) return [];
  const range = document.createRange();
  range.setStart(next, 0); range.setEnd(next, 1);
  const shown = [...alternation.querySelectorAll(".passage-text")].filter(t => t.offsetParent);
  const end = [...shown.at(-1).getClientRects()].at(-1), mark = range.getBoundingClientRect();
  return mark.top < end.bottom && mark.left > end.left ? [mark.left - end.right] : [];
})"""
LINES = """() => [...document.querySelectorAll(".passage-text")].map(
  node => Math.round(node.getBoundingClientRect().top - node.closest(".abstract").getBoundingClientRect().top))"""


@engines.both
def test_no_gap_comes_before_a_comma_whatever_is_chosen_and_no_line_breaks_anew(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).practice()  # its last passages end the abstract
    page = visitor.page
    lines = page.evaluate(LINES)
    space = 0.25 * page.locator(".abstract").evaluate(
        "node => parseFloat(getComputedStyle(node).fontSize)"
    )
    for side in "AB":
        visitor.driver.choose(side)
        assert page.evaluate(LINES) == lines
        gaps = page.evaluate(GAPS)
        assert gaps
        assert max(gaps) < space / 2
    for view in ("only A", "only B"):
        visitor.button(view).click()
        assert max(page.evaluate(GAPS)) < space / 2


@engines.both
def test_a_question_left_out_is_named_beside_it_and_has_the_focus(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo, viewport={"width": 360, "height": 640}).start()
    page = visitor.page
    alerts = page.get_by_role("alert")
    visitor.go_on()
    expect(visitor.error("side")).to_be_in_viewport(ratio=1)
    expect(page.locator("#side-a")).to_be_focused()
    expect(page.locator("#question")).to_have_attribute("aria-invalid", "true")
    assert page.title().startswith("Error: ")
    assert [text for text in alerts.all_text_contents() if text] == [
        visitor.error("side").text_content()
    ]
    page.keyboard.press("b")
    expect(visitor.error("side")).to_be_empty()
    expect(page.locator("#question")).not_to_have_attribute("aria-invalid", "true")
    visitor.go_on()
    expect(visitor.error("recognised")).to_be_in_viewport(ratio=1)
    expect(page.locator("#recognised-yes")).to_be_focused()
    # Each is what a screen reader hears with the question that it stands beside.
    for name, group in (("side", "#question"), ("recognised", ".recognised")):
        described = page.locator(group).get_attribute("aria-describedby") or ""
        assert f"{name}-error" in described.split()
    assert visitor.judgments() == []
    visitor.answer()
    assert len(visitor.judgments()) == 1


def test_without_javascript_too_nothing_goes_on_without_a_choice(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, NoScriptDriver, java_script_enabled=False).start()
    visitor.driver.rate("confidence", 44)
    visitor.go_on()
    expect(visitor.page.locator("#side-error")).to_be_visible()
    expect(visitor.page.locator("#recognised-error")).to_be_visible()
    expect(visitor.page.locator("#side-a")).to_be_focused()
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


def test_a_message_goes_when_what_it_speaks_of_is_mended_and_no_other_does(
    demo: Study, visit: Visit
) -> None:
    Study.objects.filter(pk=demo.pk).update(ratings_required=True)
    visitor = visit(demo).start()
    visitor.driver.choose("B")
    visitor.go_on()
    names = ["confidence", "expertise", "recognised"]
    for name in names:
        expect(visitor.error(name)).not_to_be_empty()
    expect(visitor.page.locator("#confidence")).to_be_focused()
    for n, name in enumerate(names):
        if name == "recognised":
            visitor.answer_recognised()
        else:
            visitor.driver.rate(name, 20)
        for other_name in names:
            still = other_name in names[n + 1 :]
            message = expect(visitor.error(other_name))
            message.not_to_be_empty() if still else message.to_be_empty()
    assert not visitor.page.title().startswith("Error: ")


def test_who_already_knew_the_article_or_its_result_is_left_out_of_this_trial_alone(
    visit: Visit, demo: Study
) -> None:
    Study.objects.filter(pk=demo.pk).update(
        human_items=2, machine_items=0, catch_items=0, min_rt_ms=0
    )
    demo.refresh_from_db()
    visitor = visit(demo).start()
    question = visitor.page.get_by_role("radiogroup", name="Did you already know this article")
    visitor.driver.choose("A")
    expect(question).to_be_visible()
    visitor.fill(Answer("A", 50, 50, recognised=True))
    visitor.go_on()
    visitor.is_at("trial/2")
    visitor.answer("B")
    visitor.finish()
    visitor.is_at("done")
    assert [j.excluded_by for j in visitor.judgments()] == ["recognised", ""]
