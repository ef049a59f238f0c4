"""The reading aid: one version of a long abstract at a time, counted, and only where the study offers it."""

from collections.abc import Callable

from playwright.sync_api import expect

from experiment.models import Study
from tests.browser import engines
from tests.browser.drivers import NoScriptDriver
from tests.browser.visitor import Answer, Visitor

Visit = Callable[..., Visitor]


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


def test_a_reload_keeps_the_view_and_the_count_and_the_next_abstract_shows_both(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.button("only B").click()
    visitor.page.reload()
    visitor.is_at("trial/1")
    expect(visitor.page.locator(".passage-b").first).to_be_visible()
    expect(visitor.page.locator(".passage-a").first).to_be_hidden()
    visitor.page.locator(".passage-b").first.click()  # what is read can be chosen
    assert visitor.chosen() == "B"
    visitor.answer("B")
    expect(visitor.page.locator(".passage-a").first).to_be_visible()
    visitor.answer("A")
    assert [j.aid_switches for j in visitor.judgments()] == [1, 0]


def test_a_study_without_the_aid_offers_neither_button_nor_key(visit: Visit, demo: Study) -> None:
    Study.objects.filter(pk=demo.pk).update(reading_aid=False)
    visitor = visit(demo).start()
    expect(visitor.page.locator("#aid")).to_have_count(0)
    visitor.page.keyboard.press("v")
    expect(visitor.page.locator(".passage-b").first).to_be_visible()
    visitor.answer("A")
    assert [j.aid_switches for j in visitor.judgments()] == [None]


def test_without_javascript_there_is_no_aid_to_count(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, NoScriptDriver, java_script_enabled=False).start()
    expect(visitor.page.locator("#aid")).to_be_hidden()
    visitor.fill(Answer("A", 70, 30))
    visitor.go_on()
    visitor.is_at("trial/2")
    assert [j.aid_switches for j in visitor.judgments()] == [None]
