"""The export page in a real browser: filters narrow what is shown, and the file is what was shown."""

import csv
import io
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.accessibility import faults
from tests.factories import make_participant, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_shown_is_downloaded(browser: Browser, live_server: Any) -> None:
    study = make_study()
    make_user("ruth", study)
    for country in ("GB", "GB", "FR"):
        make_participant(study, demographics={"country": country, "age": "34"})
    troubles: list[str] = []
    page = browser.new_context(base_url=live_server.url).new_page()
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.goto("/lab/studies/memory/export/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("ruth")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".export-count")).to_contain_text("33 rows")
    assert faults(page) == []
    page.get_by_label("Trials", exact=True).select_option("analysis")
    page.get_by_text("More filters").click()
    page.get_by_label("machine-created").check()
    page.get_by_role("button", name="Show these trials").click()
    expect(page.locator(".export-count")).to_contain_text("9 rows")
    assert faults(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert [row["item_source"] for row in rows] == ["machine"] * 9
    assert troubles == []
    page.context.close()
