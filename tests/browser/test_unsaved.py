"""Changes of a long form are asked about before its page is left; filters and what was saved are not."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.factories import make_item, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)
ASKS = "!window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"


def test_changes_are_asked_about_until_they_are_undone_or_saved(
    open_as: Callable[..., Page],
) -> None:
    study = make_study()
    user = make_user("ruth", study)
    make_research_field("cooking", lead=user)
    make_item("a", field="cooking", status="draft")
    page = open_as("ruth", f"/lab/studies/{study.slug}/set-up/general/")
    page.set_viewport_size({"width": 390, "height": 844})
    title = page.get_by_label("Title", exact=True)
    before = title.input_value()
    assert not page.evaluate(ASKS)
    title.fill("Another title")
    assert page.evaluate(ASKS)
    title.fill(before)
    assert not page.evaluate(ASKS)
    title.fill("Another title")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert not page.evaluate(ASKS)

    page.goto("/lab/fields/cooking/")
    page.get_by_role("checkbox").first.check()
    assert not page.evaluate(ASKS)
    page.goto("/lab/fields/cooking/import/paste/")
    page.get_by_role("textbox", name="Abstracts").fill("Mice [[ate, hid]].")
    assert page.evaluate(ASKS)
