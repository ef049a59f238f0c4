"""The server is killed while a participant answers, and comes back."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from experiment.models import Study
from tests.browser.first_pages import agree, answer, come_to_the_first_abstract
from tests.browser.server import SiteServer

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it

RETRIED_WITHIN_MS = 60_000  # the page waits for up to 30 s between its attempts


@pytest.fixture
def site(tmp_path: Path, demo: Study) -> Iterator[SiteServer]:
    one = SiteServer(tmp_path)
    one.take_database()
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


def test_an_answer_given_while_the_server_is_down_is_stored_once_it_is_back(
    open_browser: Callable[..., BrowserContext], site: SiteServer
) -> None:
    page = open_browser().new_page()
    agree(page, f"{site.url}/s/demo/")
    come_to_the_first_abstract(page)
    expect(page).to_have_url(f"{site.url}/s/demo/trial/1/")
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
