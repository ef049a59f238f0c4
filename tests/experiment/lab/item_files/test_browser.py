"""Import and export in a real browser: from the file to the button, for any width."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, expect

from experiment.models import Item
from tests.browser.accessibility import faults
from tests.factories import make_item, make_research_field, make_user

pytestmark = pytest.mark.django_db(transaction=True)
FILE = Path(settings.BASE_DIR) / "docs" / "examples" / "sleep.csv"
HOSTILE = '"><img src=x onerror=alert(1)>'


def test_a_file_becomes_test_cases(browser: Browser, live_server: Any, tmp_path: Path) -> None:
    make_research_field("sleep", lead=make_user("ruth"))
    make_item(
        "sleep-age", field="sleep", markup=f"Nights {HOSTILE} [[fell, rose]].", status="draft"
    )
    troubles: list[str] = []
    page = browser.new_context(base_url=live_server.url).new_page()
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on("dialog", lambda dialog: troubles.append(dialog.message))
    page.goto("/lab/fields/sleep/import/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("ruth")
    page.get_by_role("button", name="Sign in").click()
    assert faults(page) == []

    wrong = tmp_path / "wrong.csv"
    wrong.write_text(f'key,markup\n"{HOSTILE.replace(chr(34), chr(34) * 2)}","{"x" * 300}[[a, b"\n')
    page.get_by_label("File", exact=True).set_input_files(wrong)
    page.get_by_role("button", name="Show the difference").click()
    expect(page.get_by_role("heading", name="Problems")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(3)
    assert faults(page) == []

    page.get_by_role("link", name="Send another file").click()
    page.get_by_label("File", exact=True).set_input_files(FILE)
    page.get_by_label("Make subfields").check()
    page.get_by_role("button", name="Show the difference").click()
    expect(page.get_by_role("heading", name="New test cases")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("link", name="1 changed").click()
    expect(page.locator("del").first).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="Import 10 test cases").click()
    expect(page.get_by_text("9 test cases are new, 1 is changed.")).to_be_visible()
    assert Item.objects.filter(field="sleep").count() == 10

    page.get_by_role("link", name="Export", exact=True).click()
    assert faults(page) == []
    page.get_by_label("State").select_option("draft")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 11
    assert troubles == []
    page.context.close()
