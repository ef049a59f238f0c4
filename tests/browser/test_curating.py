"""From a pasted abstract to an accepted test case, and a queue that is reviewed by keys."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from experiment.models import Item, ResearchField
from experiment.services.curation import writing
from tests.browser import sites
from tests.storages import store_files_in

FIELD = "/lab/fields/cooking/"
WHOLE_SENTENCE = "The crust was darker, too, in every loaf that we cut."
ABSTRACT = (
    "Bread is old, and so are the disputes about how much sugar belongs in it. We baked loaves with and without sugar "
    "on twelve days in one oven, and weighed each of them after an hour. All loaves were coded, and nobody who cut them "
    f"knew how they had been made. With sugar the dough rose faster than without. {WHOLE_SENTENCE}"
)
OpenAs = Callable[[str, str], Page]


@pytest.fixture(autouse=True)
def people(transactional_db: None, settings: Any, tmp_path: Path) -> None:
    store_files_in(settings, tmp_path)
    sites.cooking()


def path_of(page: Page) -> str:
    return re.sub(r"^https?://[^/]+|[?#].*$", "", page.url)


def test_a_pasted_abstract_is_altered_explained_and_accepted_by_two_people(
    open_as: OpenAs,
) -> None:
    page = open_as("ada", FIELD)
    page.get_by_role("link", name="New test case").click()
    expect(page.locator("#tools")).to_be_visible()  # its scripts are at work
    sites.text_of(page).evaluate(sites.PASTE, ABSTRACT)
    page.get_by_label("Subfield").select_option("Baking")
    sites.change(page, "faster", "slower")
    sites.change(page, WHOLE_SENTENCE, WHOLE_SENTENCE.replace("darker", "paler"))
    expect(page.locator("#preview-facts")).to_contain_text("2 alternations")
    page.get_by_role("button", name="Save and send to review").click()
    checks = page.get_by_role("region", name="Checks")
    expect(checks).to_contain_text("a whole sentence")
    told = page.get_by_role("heading", name="Change or explain briefly")
    expect(told).to_be_visible()
    checks.get_by_label("Why the text is correct as it is").fill(
        "The loaf is cut in no other sentence."
    )
    checks.get_by_role("button", name="Explain").click()
    expect(checks.get_by_role("heading", name="Explained")).to_be_visible()
    sites.send_to_review(page)
    sites.let_two_accept(open_as, ("ben", "cleo"), path_of(page))


def test_short_test_cases_are_sent_together_and_reviewed_by_keys(open_as: OpenAs) -> None:
    field, ada = ResearchField.objects.get(slug="cooking"), User.objects.get(username="ada")
    for n in range(3):
        writing.create_draft(
            field, f"Loaf {n} [[rose, fell]] in the oven.", by=ada, subfield="Baking"
        )
    page = open_as("ada", f"{FIELD}?status=draft")
    page.get_by_label("Select all 3 shown").check()
    expect(page.locator("#n-selected")).to_have_text("3 selected")
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_role("heading", name="Send to review 3")).to_be_visible()
    for box in page.get_by_label("Why these texts are correct as they are").all():
        box.fill("They are short.")
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_text("3 test cases are in review now.")).to_be_visible()
    reviewer = open_as("ben", "/lab/")
    reviewer.get_by_role("link", name="Review 3 test cases").click()
    reviewer.locator(".item-list a").first.click()
    for n in (3, 2, 1):
        expect(reviewer.locator("#queue-heading")).to_contain_text(str(n))
        expect(reviewer.locator("#shortcuts:not([hidden])")).to_be_attached()
        here = reviewer.url
        reviewer.keyboard.press("n")
        if n > 1:  # the last one has no next
            expect(reviewer).not_to_have_url(here)
        expect(reviewer.locator("#shortcuts:not([hidden])")).to_be_attached()
        reviewer.keyboard.press("a")
    expect(reviewer.locator("#queue")).to_have_count(0)
    assert Item.objects.filter(reviews__reviewer__username="ben").count() == 3
