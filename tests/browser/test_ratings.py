"""The two sliders: no value until moved, however that is done; one gentle reminder, or required."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from experiment.models import Study
from tests.browser import engines
from tests.browser.drivers import Driver, MouseDriver, NoScriptDriver, TouchDriver
from tests.browser.visitor import Answer, Visitor

Visit = Callable[..., Visitor]
NAMES = ("confidence", "expertise")


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


def rate_unrated(visitor: Visitor, name: str) -> None:
    """Come to the practice abstract as for the first time, and choose a side."""
    visitor.forget()
    visitor.enter()
    visitor.is_at("practice")
    visitor.driver.choose("A")
    assert state(visitor, name) == UNRATED


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


@pytest.mark.parametrize("driver", [MouseDriver, TouchDriver])
def test_a_press_anywhere_rates_the_exact_middle_included(
    visit: Visit, demo: Study, driver: type[Driver]
) -> None:
    visitor = visit(demo, driver, has_touch=True).practice()
    for value in (50, 1, 25, 51, 100):  # the middle first: a press there moves nothing
        rate_unrated(visitor, "confidence")
        assert abs(visitor.driver.rate("confidence", value) - value) <= 3


def test_a_key_rates(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).practice()
    keys = {"ArrowRight": 51, "ArrowLeft": 49, "Home": 1, "End": 100, "Space": 50, "Enter": 50}
    for key, value in keys.items():
        rate_unrated(visitor, "expertise")
        visitor.page.locator("#expertise").focus()
        visitor.page.keyboard.press(key)
        assert state(visitor, "expertise") == (str(value), "Rated", f"{value} of 100"), key
    visitor.is_at("practice")


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_empty_ratings_bring_one_gentle_reminder_and_then_go_on_empty(
    visit: Visit, demo: Study, has_script: bool
) -> None:
    driver = MouseDriver if has_script else NoScriptDriver
    visitor = visit(demo, driver, java_script_enabled=has_script).start()
    visitor.fill(Answer("B", confidence=30))
    visitor.go_on()
    # Beside the rating that was left out, and nowhere else; it is no error.
    expect(visitor.error("expertise")).to_contain_text("You have not rated this.")
    expect(visitor.page.locator("#expertise")).to_be_focused()
    expect(visitor.error("confidence")).to_be_empty()
    expect(visitor.page.locator("[aria-invalid]")).to_have_count(0)
    assert not visitor.page.title().startswith("Error: ")
    assert visitor.judgments() == []
    assert (visitor.chosen(), visitor.rating("confidence")[0]) == (
        "B",
        visitor.rating("confidence")[0],
    )
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert abs(judgment.confidence - 30) <= 4
    assert (judgment.expertise, judgment.expertise_moved) == (None, False)
    assert judgment.confidence_moved
    visitor.fill(Answer("A"))
    visitor.go_on()
    for name in NAMES:
        expect(visitor.error(name)).not_to_be_empty()  # once for each abstract


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_required_ratings_are_asked_for(visit: Visit, demo: Study, has_script: bool) -> None:
    driver = MouseDriver if has_script else NoScriptDriver
    visitor = visit(demo, driver, java_script_enabled=has_script).start()
    Study.objects.filter(pk=demo.pk).update(ratings_required=True)
    visitor.page.reload()
    visitor.fill(Answer("B", confidence=30))
    visitor.go_on()
    for _ in range(2):
        expect(visitor.error("expertise")).not_to_be_empty()
        expect(visitor.error("confidence")).to_be_empty()
        expect(visitor.page.locator("#expertise")).to_be_focused()
        visitor.go_on()
    expect(visitor.error("expertise")).not_to_be_empty()
    assert visitor.judgments() == []
    visitor.driver.rate("expertise", 10)
    visitor.go_on()
    visitor.is_at("trial/2")
    assert len(visitor.judgments()) == 1
