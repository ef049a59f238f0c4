"""An abstract is read and judged: choosing, rating, reading one version, and what is measured of it."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F
from playwright.sync_api import Locator, Page, expect

from experiment.models import Judgment, Study, Trial
from tests.browser import engines
from tests.browser.drivers import MouseDriver, NoScriptDriver, TouchDriver
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


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_one_click_on_any_passage_chooses_all_passages_of_its_side(
    visit: Visit, demo: Study, java_script_enabled: bool
) -> None:
    driver = MouseDriver if java_script_enabled else NoScriptDriver
    visitor = visit(demo, driver, java_script_enabled=java_script_enabled)
    page = abstract_with_several_passages(visitor).page
    before = {side: look(page, side) for side in "AB"}
    assert visitor.chosen() == ""
    for passage in range(passages(page, "A").count()):
        for side in "AB":
            visitor.driver.choose(side, passage)
            assert visitor.chosen() == side
            # The chosen side stands out, the other recedes, and neither looks as it did before.
            assert len({look(page, "A"), look(page, "B"), *before.values()}) == 4


@engines.both
def test_shortcut_keys_choose_unless_another_control_has_the_focus_or_they_are_off(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    page = visitor.page
    for key in "ab12AB":  # each a change
        page.keyboard.press(key)
        side = {"1": "A", "2": "B"}.get(key, key.upper())
        assert visitor.chosen() == side, key
        expect(page.locator("#choice-status")).to_contain_text(f"Side {side} chosen")
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
        for key in ("1", "a", "A"):
            page.keyboard.press(key)
            assert visitor.chosen() == "B", control
    assert visitor.rating("confidence") == ""
    page.locator("#side-b").focus()
    page.keyboard.press("1")  # on the side cards
    assert visitor.chosen() == "A"
    page.locator(".abstract").click(position={"x": 4, "y": 4})
    page.keyboard.press("b")
    assert visitor.chosen() == "B"
    page.get_by_role("switch").uncheck()
    page.locator(".abstract").click(position={"x": 4, "y": 4})
    page.keyboard.press("a")
    assert visitor.chosen() == "B"
    visitor.answer("B")
    page.keyboard.press("a")  # for good
    assert visitor.chosen() == ""


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


def state(visitor: Visitor, name: str) -> tuple[str, str, str]:
    """The value that would be sent, and what a reader and a listener learn of it."""
    rating = visitor.page.locator(f".rating:has(#{name})")
    state = rating.locator(".rating-state").text_content() or ""
    return (
        visitor.rating(name),
        state,
        visitor.page.locator(f"#{name}").get_attribute("aria-valuetext") or "",
    )


UNRATED = ("", "Not yet rated", "not yet rated")


@engines.both
def test_a_slider_has_no_value_until_it_is_moved_and_says_where_to_click(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.driver.choose("A")
    visitor.page.locator("#confidence").focus()
    visitor.driver.choose("B")
    prompts = visitor.page.locator(".slider-prompt:visible")
    expect(prompts).to_have_count(2)
    # It says so on the line itself, and a press there is a press on the line.
    box, line = prompts.first.bounding_box(), visitor.page.locator("#confidence").bounding_box()
    assert box == line
    assert state(visitor, "confidence") == UNRATED
    assert state(visitor, "expertise") == UNRATED
    visitor.driver.rate("expertise", 80)
    assert state(visitor, "confidence") == UNRATED
    value = visitor.rating("expertise")
    assert state(visitor, "expertise") == (value, "Rated", f"{value} of 100")
    expect(prompts).to_have_count(1)
    assert abs(visitor.driver.rate("confidence", 50) - 50) <= 1  # where the words stood
    expect(prompts).to_have_count(0)


def test_a_press_anywhere_rates_the_exact_middle_included(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, has_touch=True).practice()
    for driver, value in (
        (MouseDriver, 50),
        (TouchDriver, 50),
        (MouseDriver, 1),
        (TouchDriver, 100),
    ):
        visitor.forget()
        visitor.enter()
        visitor.is_at("practice")
        visitor.driver = driver(visitor.page)
        visitor.driver.choose("A")
        assert state(visitor, "confidence") == UNRATED
        assert abs(visitor.driver.rate("confidence", value) - value) <= 3


def test_empty_ratings_bring_one_gentle_reminder_and_then_go_on_empty(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.fill(Answer("B", confidence=30))
    visitor.go_on()
    # Beside the rating that was left out, and nowhere else; it is no error.
    expect(visitor.error("expertise")).to_contain_text("You have not answered this.")
    expect(visitor.page.locator("#expertise")).to_be_focused()
    expect(visitor.error("confidence")).to_be_empty()
    expect(visitor.page.locator("[aria-invalid]")).to_have_count(0)
    assert not visitor.page.title().startswith("Error: ")
    assert visitor.judgments() == []
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert abs(judgment.confidence - 30) <= 4
    assert (judgment.expertise, judgment.expertise_moved) == (None, False)
    visitor.fill(Answer("A"))
    visitor.go_on()
    for name in ("confidence", "expertise"):
        expect(visitor.error(name)).not_to_be_empty()  # once for each abstract


def read(visitor: Visitor) -> str:
    """The abstract as it is seen."""
    return " ".join(visitor.page.locator(".abstract").inner_text().split())


@engines.both
def test_one_version_reads_as_its_text_and_each_switch_is_counted(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    item, original = visitor.trial.item, visitor.trial.original_side
    texts = {"A": item.original, "B": item.altered}
    if original == "B":
        texts = {"A": item.altered, "B": item.original}
    both = read(visitor)
    for side in "AB":
        visitor.button(f"only {side}").click()
        assert read(visitor) == " ".join(texts[side].split())
        expect(visitor.button(f"only {side}")).to_have_attribute("aria-pressed", "true")
    visitor.button("only B").click()  # as it is: no switch
    visitor.button("both").click()
    assert read(visitor) == both
    visitor.page.locator(".abstract").click(position={"x": 4, "y": 4})
    for text in (texts["A"], texts["B"], both):  # by key, in turn
        visitor.page.keyboard.press("v")
        assert read(visitor) == " ".join(text.split())
    assert visitor.chosen() == ""
    visitor.answer("B")
    assert [j.aid_switches for j in visitor.judgments()] == [6]


# As translators do: each text within an element of their own, in other words
TRANSLATE = """spared => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) {
    if (walker.currentNode.data.trim() && !walker.currentNode.parentElement.closest(spared)) texts.push(walker.currentNode);
  }
  for (const node of texts) {
    const font = document.createElement("font");
    font.textContent = `traduit : ${node.data}`;
    node.replaceWith(font);
  }
}"""


@engines.both
def test_a_page_that_was_translated_is_recorded_and_a_text_said_to_be_another(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    notice = visitor.page.locator("#translated")
    for spared in ("*", "[translate=no], script, template", "script, template"):
        visitor.page.reload()
        visitor.page.evaluate(TRANSLATE, spared)
        if spared == "script, template":
            expect(notice).to_be_visible()
            visitor.page.reload()  # who has read it has read it
        expect(notice).to_be_hidden()
        visitor.answer("A")
    assert [judgment.translated for judgment in visitor.judgments()] == ["no", "page", "text"]


@engines.both
def test_choices_ratings_and_reloads_are_timed_and_counted(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    steps = (
        lambda: visitor.driver.choose("A"),
        lambda: visitor.driver.rate("confidence", 20),
        lambda: visitor.driver.choose("B"),
        lambda: visitor.driver.rate("expertise", 60),
        lambda: visitor.driver.rate("confidence", 80),
        visitor.answer_recognised,
    )
    for step in steps:
        visitor.read_for(100_000)
        step()
    rated = [visitor.rating(name) for name in ("confidence", "expertise")]
    visitor.page.reload()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "B"
    assert [visitor.rating(name) for name in ("confidence", "expertise")] == rated
    expect(visitor.page.locator(".rating-state").first).to_have_text("Rated")
    expect(visitor.page.locator("#recognised-no")).to_be_checked()
    visitor.page.reload()
    visitor.read_for(100_000)
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes, judgment.reloads) == ("B", 1, 2)
    assert (judgment.blur_count, judgment.hidden_ms) == (0, 0)  # nobody has left
    times = [
        judgment.rt_choice_ms,
        judgment.confidence_first_ms,
        judgment.rt_final_choice_ms,
        judgment.expertise_first_ms,
        judgment.confidence_last_ms,
        judgment.rt_ms - 100_000,
    ]
    assert [ms // 100_000 for ms in times] == [1, 2, 3, 4, 5, 6]
    assert judgment.expertise_last_ms == judgment.expertise_first_ms


def test_leaving_the_page_is_counted_and_its_time_is_measured(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    hide = """hidden => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
      window.dispatchEvent(new Event(hidden ? "blur" : "focus"));
    }"""
    visitor.page.evaluate(hide, True)
    visitor.read_for(200_000)
    visitor.page.evaluate(hide, False)
    visitor.read_for(50_000)
    visitor.page.evaluate("window.dispatchEvent(new Event('blur'))")
    visitor.page.evaluate("window.dispatchEvent(new Event('focus'))")
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert judgment.blur_count == 2
    assert 200_000 <= judgment.hidden_ms < 250_000
    assert 250_000 <= judgment.rt_ms < 500_000


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_an_answer_sent_too_soon_is_not_stored_and_stays_on_the_page(
    visit: Visit, demo: Study, java_script_enabled: bool
) -> None:
    Study.objects.filter(pk=demo.pk).update(min_page_s=120)
    driver = MouseDriver if java_script_enabled else NoScriptDriver
    visitor = visit(demo, driver, java_script_enabled=java_script_enabled).start()
    given = visitor.fill(Answer("A", 70, 30, recognised=True))
    visitor.go_on()
    expect(visitor.page.locator("#read-on")).to_be_focused()
    assert not Judgment.objects.exists()
    assert visitor.chosen() == "A"
    assert visitor.rating("confidence") == str(given.confidence)
    assert visitor.rating("expertise") == str(given.expertise)
    expect(visitor.page.locator("#recognised-yes")).to_be_checked()
    Trial.objects.update(shown_at=F("shown_at") - timedelta(seconds=120))
    visitor.go_on()
    visitor.is_at("trial/2")
    judgment = Judgment.objects.get()
    assert (judgment.side, judgment.confidence) == ("A", given.confidence)
