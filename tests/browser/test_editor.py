"""A test case is written in a browser."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from experiment.models import ResearchField
from experiment.services.curation import drafts
from tests.browser.accessibility import faults
from tests.factories import FILLER, make_research_field, make_user

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "/lab/fields/cooking/items/new/"
ABSTRACT = f"{FILLER}Sugar made the dough rise faster, and the crust was darker."
TEXT = ABSTRACT.replace("faster", "[[faster | slower]]").replace("darker", "[[darker | paler]]")


@pytest.fixture
def open_page(engine: Browser, open_browser: Callable[..., Any]) -> Iterator[Callable[..., Page]]:
    """Opens a page as a curator; no script may fail, nor the pages' policy be broken."""
    ada = make_user("ada")
    make_research_field("cooking", "baking", "frying", curators=[ada])
    errors: list[str] = []

    def open_one(path: str, **options: Any) -> Page:
        page: Page = open_browser(**options).new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda m: (
                errors.append(m.text)
                if m.type == "error" and "Failed to load resource" not in m.text
                else None
            ),
        )
        page.goto(path)
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill("ada")
        page.get_by_role("button", name="Sign in").click()
        return page

    yield open_one
    assert errors == []


def a_draft(text: str = TEXT) -> str:
    """The address at which it is written."""
    item = drafts.create(ResearchField.objects.get(), text, by=None)
    return reverse("lab:write_item", args=["cooking", item.pk])


def test_the_page_is_accessible_and_fits_at_any_width(open_page: Callable[..., Page]) -> None:
    page = open_page(NEW)
    found = faults(page)
    page.goto(a_draft())
    page.locator(".editor-help summary").click()
    page.get_by_label("Abstract").fill(f"{TEXT} And [[more")
    expect(page.locator("#preview-facts")).to_contain_text("Not readable")
    found += faults(page)
    page.get_by_label("Abstract").fill(TEXT)
    expect(page.locator("#preview-facts")).to_contain_text("2 alternations")
    found += faults(page)
    assert "\n".join(found) == ""
