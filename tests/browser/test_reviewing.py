"""A test case is sent to review, discussed, accepted by two others, and its page is accessible on the way."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import BrowserContext, Page, expect

from experiment.models import Item
from experiment.services.curation import writing
from tests.browser.accessibility import faults
from tests.experiment.services.curation.test_lifecycle import TEXT, Kitchen

pytestmark = pytest.mark.django_db(transaction=True)
# Where to keep pictures of the page, if anywhere
PICTURES = os.environ.get("PICTURES")


def keep_picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES, f"{name}.png"), full_page=True)


def test_from_a_draft_over_two_reviewers_to_an_accepted_test_case(
    open_browser: Callable[..., BrowserContext], live_server: object
) -> None:
    kitchen = Kitchen()
    item = writing.write_draft(
        kitchen.draft,
        by=kitchen.ada,
        edits=0,
        markup=f"{TEXT} It was warm.",
        note="From a cookbook.",
    )
    errors: list[str] = []
    found: list[str] = []

    def page_of(user: object) -> Page:
        client = Client()
        client.force_login(user)  # type: ignore[arg-type]
        context = open_browser()
        value = client.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": value, "url": live_server.url}])  # type: ignore[attr-defined]
        page = context.new_page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"/lab/fields/cooking/items/{item.pk}/")
        return page

    ada = page_of(kitchen.ada)
    found += faults(ada)
    ada.get_by_role("button", name="Send to review").click()
    expect(ada.get_by_text("in review").first).to_be_visible()
    found += faults(ada)

    ben = page_of(kitchen.ben)
    ben.locator("#item-text .wording-changed .wording-text").select_text()
    ben.get_by_role("button", name="Comment on the selected words").click()
    expect(ben.get_by_label("About the passage")).to_have_value("fell late")
    ben.keyboard.type("Would bakers not know this?")
    ben.get_by_role("button", name="Comment", exact=True).click()
    expect(ben.locator("blockquote")).to_have_text("fell late")
    ben.get_by_label("Accept", exact=True).check()
    found += faults(ben)
    keep_picture(ben, "item-in-review")
    ben.get_by_role("button", name="Give my verdict").click()
    expect(ben.get_by_text("Your verdict is kept.")).to_be_visible()

    ada.reload()
    ada.get_by_text("Answer", exact=True).click()
    ada.get_by_label("Your answer").fill("Not of this flour.")
    ada.get_by_role("button", name="Send the answer").click()
    ada.get_by_role("button", name="Resolve").click()
    expect(ada.get_by_text("Resolved by ada")).to_be_visible()

    cleo = page_of(kitchen.cleo)
    expect(cleo.get_by_text("is shown once you have given your own verdict")).to_be_visible()
    cleo.get_by_label("Accept", exact=True).check()
    cleo.get_by_role("button", name="Give my verdict").click()
    expect(cleo.get_by_text("Accepted by 2 people who did not write it")).to_be_visible()
    cleo.get_by_role("heading", name="History").click()
    expect(cleo.locator(".difference ins")).to_contain_text("It was warm")
    found += faults(cleo)
    keep_picture(cleo, "item-accepted")
    cleo.set_viewport_size({"width": 320, "height": 640})
    keep_picture(cleo, "item-accepted-narrow")

    assert Item.objects.get(pk=item.pk).accepted_by == 2
    assert (errors, found) == ([], [])
