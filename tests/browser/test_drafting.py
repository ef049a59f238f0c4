"""A language model drafts, through refusal and repair, while a lead watches; a worker of the site does it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import databases
from tests.browser.accessibility import faults
from tests.browser.conftest import DESKTOP, TIMEOUT_MS
from tests.browser.curating import COOKING, DecliningStub, have_drafted
from tests.browser.lab_pages import sign_in
from tests.browser.server import SiteServer
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.services.drafting.abstracts import Lessons, abstract

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with DecliningStub(Lessons(a1=["changed"])) as stub:
        yield stub


@pytest.fixture
def site(tmp_path: Path, django_db_setup: None) -> Iterator[SiteServer]:
    """The site and its worker, as `make serve` starts them."""
    one = SiteServer(tmp_path, with_worker=True)
    databases.copy_migrated(one.database)
    one.manage("shell", "-c", COOKING)
    one.start()
    yield one
    one.kill()


@pytest.fixture
def page(browser: Browser, site: SiteServer) -> Iterator[Page]:
    context = browser.new_context(base_url=site.url, **DESKTOP)
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


def test_abstracts_become_drafts_through_refusal_and_repair(page: Page, stub: ChatStub) -> None:
    sign_in(page, "lena", "/lab/fields/cooking/drafting/")
    rows = have_drafted(page, stub.url, [abstract(1), abstract(2)], "Vegetables")
    expect(page.get_by_text("3 answers in")).to_be_visible()
    expect(rows.nth(1)).to_contain_text("drafted")
    expect(rows.nth(2)).to_contain_text("no answer")
    found = faults(page)

    # What was wrong with the first answer to the abstract that became a draft
    rows.nth(1).get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_text("The abstract reads")).to_have_count(2)  # and what the model was told
    found += faults(page)
    page.get_by_role("link", name="See test case").click()
    expect(page.locator("#item-text")).to_contain_text("sharpens")
    expect(page.get_by_text("altered by writer-2026-01")).to_be_visible()

    # The abstract that the model declined goes to the editor, with a person
    page.go_back()
    page.get_by_role("link", name="All drafts of this run").click()
    rows.nth(2).get_by_role("link", name="2", exact=True).click()
    expect(page.get_by_text("I would rather not alter this one.")).to_be_visible()
    page.get_by_role("button", name="Open in the editor").click()
    expect(page.get_by_label("Abstract")).to_have_value(abstract(2))
    assert "\n".join(found) == ""
