"""The models' pages in a real browser: queued there, scored beside it, seen to finish; and accessible."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Browser, Page, expect

from experiment.models import Study
from scoring.models import ScoringRun
from scoring.services.execute import execute
from tests.factories import make_user
from tests.scoring.ngram_backend import NgramBackend

pytestmark = pytest.mark.django_db(transaction=True)
TIMEOUT_MS = 15_000
LOST = "Failed to load resource"  # the browser says this of every 4xx answer; the page's words are tested


@pytest.fixture
def open_page(browser: Browser, live_server: Any, study: Study) -> Iterator[Callable[..., Page]]:
    """Opens a page of the lab as a researcher who is signed in; no script may fail, nor the pages' policy be broken."""
    make_user("ruth", study)
    contexts, troubles = [], []

    def open_one(path: str, **options: Any) -> Page:
        context = browser.new_context(
            base_url=live_server.url, viewport={"width": 1280, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path)
        page.get_by_label("Username").fill("ruth")
        page.get_by_label("Password").fill("ruth")
        page.get_by_role("button", name="Sign in").click()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert [trouble for trouble in troubles if LOST not in trouble] == []


def score(run: ScoringRun, **how: Any) -> None:
    execute(run, backend=NgramBackend(), **how)
    connections.close_all()


def test_a_run_queued_on_the_page_is_seen_to_finish(
    open_page: Callable[..., Page], study: Study
) -> None:
    page = open_page("/lab/studies/memory/")
    page.get_by_role("navigation", name="Parts of the study").get_by_text("Models").click()
    expect(page.get_by_text("No model has been scored")).to_be_visible()
    page.get_by_label("Model arguments").fill("pretrained=bigrams")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Tokens scored at once").fill("400")
    page.clock.install()
    page.get_by_role("button", name="Start scoring").click()
    expect(page.get_by_role("heading", name="Waiting")).to_be_visible()
    expect(page.get_by_text("No worker is running").first).to_be_visible()

    run = ScoringRun.objects.get()
    stop = page.get_by_role("button", name="Stop this run")
    stop.focus()
    score(run, max_pairs=3)
    run.refresh_from_db()
    assert 0 < run.done < 12
    page.clock.fast_forward(3_100)
    expect(page.locator(".done")).to_have_text(f"{run.done} of 12")
    expect(page.get_by_role("heading", name="Accuracy so far")).to_be_visible()
    expect(stop).to_be_focused()

    score(run)
    page.clock.fast_forward(3_100)
    expect(page.get_by_role("heading", name="Finished")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="finished")).to_have_count(1)
    expect(page.get_by_role("region", name="Pairs of texts").locator("tbody tr")).to_have_count(12)
    expect(stop).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="Scores as CSV").click()
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 13

    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(30_000)  # what is over is asked for no more
    page.get_by_role("navigation").get_by_role("link", name="Models").click()
    expect(page.get_by_role("heading", name="Accuracy")).to_be_visible()
    assert not [address for address in asked if "/live/" in address]
    expect(page.locator(".dot-list")).to_contain_text("bigrams")
