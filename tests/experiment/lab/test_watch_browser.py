"""Watching in a real browser: two participants arrive while the page is open; every page of watching is accessible."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from experiment.models import Study
from tests.browser.accessibility import faults
from tests.experiment import people
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)
WATCH = "/lab/studies/memory/"


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open", target_valid=20)


@pytest.fixture
def page(browser: Browser, live_server: Any, study: Study) -> Iterator[Page]:
    """Signed in; no script may fail, nor the pages' policy be broken."""
    make_user("ruth", study)
    page = browser.new_page(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    troubles: list[str] = []
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.clock.install()
    page.goto("/lab/sign-in/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("ruth")
    page.get_by_role("button", name="Sign in").click()
    yield page
    page.close()
    # The browser says so of every 4xx answer; what the page says is looked at
    assert [t for t in troubles if "Failed to load resource" not in t] == []


def number(page: Page, name: str) -> Any:
    return page.locator("#live-flow .figures div").filter(has_text=name).locator("dd")


def test_numbers_change_by_themselves_while_two_participants_arrive(
    page: Page, study: Study
) -> None:
    page.goto(WATCH)
    expect(page.get_by_text("There are no participants yet")).to_be_visible()
    first = people.start(study)
    page.clock.fast_forward(10_100)
    expect(number(page, "Recruited")).to_have_text("1")
    expect(number(page, "On a page now")).to_have_text("1")
    expect(page.get_by_role("row", name="Trial 1 1 1")).to_be_visible()
    people.answer(first, until=2)
    people.finish(study)
    page.clock.fast_forward(10_100)
    expect(number(page, "Recruited")).to_have_text("2")
    expect(number(page, "Finished")).to_have_text("1")
    expect(number(page, "Valid")).to_have_text("1 of 20")
    expect(page.get_by_role("row", name="Trial 3 2 1")).to_be_visible()
    page.get_by_role("link", name="See them one by one").click()
    expect(page.locator(".people tbody tr")).to_have_count(2)
    page.locator(".people a").first.click()
    expect(page.get_by_role("heading", name="Why these test cases")).to_be_visible()
    page.locator(".draws summary").first.click()
    expect(page.get_by_text("give the same test case again").first).to_be_visible()
    assert "\n".join(faults(page)) == ""
