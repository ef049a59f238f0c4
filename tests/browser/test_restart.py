"""The server is killed while a participant answers, and comes back."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.server import SiteServer
from tests.browser.visitor import DOUBLE_CLICK_MS

RETRIED_WITHIN_MS = 60_000  # the page waits for up to 30 s between its attempts


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SiteServer]:
    one = SiteServer(tmp_path)
    one.manage("migrate", "--verbosity", "0")
    one.manage("load_demo", "--simulate", "0")
    one.start()
    yield one
    one.kill()


def stored(site: SiteServer) -> list[tuple[Any, ...]]:
    """Position, side, confidence and key of each judgment, read beside the server."""
    with sqlite3.connect(site.database) as database:
        rows = database.execute(
            "SELECT t.position, j.side, j.confidence, j.idempotency_key FROM experiment_judgment j"
            " JOIN experiment_trial t ON t.id = j.trial_id ORDER BY t.position"
        ).fetchall()
    database.close()
    return rows


def answer(page: Page, side: str) -> None:
    page.keyboard.press(side)
    for name in ("confidence", "expertise"):
        page.locator(f"#{name}").press("End")
    page.locator("#recognised-no").check()
    page.get_by_role("button", name="Continue").click()


def come_to_the_first_abstract(page: Page, site: SiteServer) -> None:
    page.goto(f"{site.url}/s/demo/")
    page.locator("#agree").click()
    for name in ("gender", "country", "position"):
        field = page.locator(
            f'select[name="{name}"], input[name="{name}"][value="prefer_not_to_say"]'
        )
        if field.evaluate("node => node.tagName") == "SELECT":
            field.select_option("prefer_not_to_say")
        else:
            field.check()
    for name in ("age", "experience_years"):
        page.locator(f"#id_{name}_1").check()
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(f"{site.url}/s/demo/practice/")
    for side in "AB":
        if "practice" in page.url:
            expect(page.locator("#shortcuts")).to_be_visible()
            answer(page, side)
            expect(page.locator("#practice-feedback")).to_be_visible()  # of both sides
    page.wait_for_timeout(DOUBLE_CLICK_MS)
    page.get_by_role("button", name="Show the first abstract").click()
    expect(page).to_have_url(f"{site.url}/s/demo/trial/1/")


def test_an_answer_given_while_the_server_is_down_is_stored_once_it_is_back(
    open_browser: Callable[..., BrowserContext], site: SiteServer
) -> None:
    page = open_browser().new_page()
    come_to_the_first_abstract(page, site)
    answer(page, "a")
    expect(page).to_have_url(f"{site.url}/s/demo/trial/2/")
    site.kill()
    answer(page, "b")
    expect(page.locator("#send-status")).to_contain_text("your answer stays on this page")
    assert [row[:3] for row in stored(site)] == [(1, "A", 100)]
    site.start()
    expect(page).to_have_url(f"{site.url}/s/demo/trial/3/", timeout=RETRIED_WITHIN_MS)
    site.kill()
    site.start()
    answer(page, "a")
    expect(page).to_have_url(f"{site.url}/s/demo/trial/4/")
    rows = stored(site)
    assert [row[:3] for row in rows] == [(1, "A", 100), (2, "B", 100), (3, "A", 100)]
    assert len({row[3] for row in rows}) == 3
