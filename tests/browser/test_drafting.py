"""A language model drafts, through refusal and repair, while a lead watches; a worker of the site does it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import faults
from tests.browser.conftest import DESKTOP, TIMEOUT_MS
from tests.browser.server import SiteServer
from tests.scoring.backends.chat.stub import MODEL, ChatHandler, ChatStub
from tests.scoring.services.drafting.abstracts import Lessons, abstract

WORK_MS = 300_000  # the worker's, on a slow machine
PEOPLE = """
from django.contrib.auth.models import User
from experiment.models import ResearchField
field = ResearchField.objects.create(slug="cooking", name="cooking")
field.subfields.create(name="Vegetables", purpose="Which steps change the taste.")
for name in ("lena", "rosa", "theo"):
    user = User.objects.create_user(name, password=name)
    field.members.add(user, through_defaults={"role": "lead" if name == "lena" else "curator"})
"""


class Declining(ChatHandler):
    """Declines the second abstract, however often it is asked."""

    def send_text(
        self, request: dict[str, Any], text: Any, finish: str = "stop", **message: Any
    ) -> None:
        if "In batch 2," in request["messages"][1]["content"]:
            text, message = None, {"refusal": "I would rather not alter this one."}
        super().send_text(request, text, finish, **message)


class DecliningStub(ChatStub):
    def handler(self) -> type[ChatHandler]:
        return Declining


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with DecliningStub(Lessons(a1=["changed"])) as stub:
        yield stub


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SiteServer]:
    """The site and its worker, as `make serve` starts them."""
    one = SiteServer(tmp_path, with_worker=True)
    one.manage("migrate", "--verbosity", "0")
    one.manage("shell", "-c", PEOPLE)
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


def sign_in(page: Page, name: str) -> None:
    page.context.clear_cookies()
    page.goto("/lab/fields/cooking/drafting/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(name)
    page.get_by_role("button", name="Sign in").click()


def test_abstracts_become_drafts_through_refusal_and_repair(page: Page, stub: ChatStub) -> None:
    sign_in(page, "lena")
    form = page.get_by_role("region", name="Draft from abstracts")
    form.get_by_label("Abstracts").fill(f"{abstract(1)}\n\n{abstract(2)}")
    form.get_by_label("Subfield").select_option("Vegetables")
    form.get_by_label("Model", exact=True).fill(MODEL)
    form.get_by_label("Address of the chat server").fill(stub.url)
    form.get_by_role("button", name="Have it draft").click()
    expect(page.get_by_text("finished: 2 of 2 abstracts")).to_be_visible(timeout=WORK_MS)
    expect(page.get_by_text("3 answers in")).to_be_visible()
    rows = page.get_by_role("table").get_by_role("row")
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
