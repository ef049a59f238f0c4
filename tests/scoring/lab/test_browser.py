"""The models' pages in a real browser: queued there, scored beside it, seen to finish; and accessible."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Browser, Page, expect

from experiment.models import Study
from lib.jobs import presence
from scoring.models import LanguageModel, ModelSet, ScoringRun, UnscoredText
from scoring.services.execute import execute
from tests.browser.accessibility import faults
from tests.factories import make_study, make_user
from tests.lib.test_worker import Workers, until, workers
from tests.scoring.lab.rows import ask, finish, published
from tests.scoring.ngram_backend import NgramBackend

__all__ = ["workers"]  # a fixture
pytestmark = pytest.mark.django_db(transaction=True)
TIMEOUT_MS = 15_000
LOST = "Failed to load resource"  # the browser says this of every 4xx answer; the page's words are tested


@pytest.fixture
def study() -> Study:
    return make_study()


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


def test_a_model_asked_for_on_the_page_is_scored_by_a_worker_that_runs_beside_the_site(
    open_page: Callable[..., Page], study: Study, workers: Workers
) -> None:
    workers.start("manage.py", "work")
    until(lambda: presence.is_taken(ScoringRun))
    page = open_page("/lab/studies/memory/models/")
    expect(page.get_by_text("No worker is running")).to_have_count(0)
    page.get_by_role("button", name="Score the demonstration model").click()
    expect(page.get_by_role("heading", name="Finished")).to_be_visible(
        timeout=120_000  # torch is loaded for it
    )
    expect(page.locator(".done")).to_have_text("12 of 12")
    page.goto("/lab/studies/memory/work/")
    expect(page.get_by_role("region", name="Ended").get_by_role("listitem")).to_have_count(1)
    assert faults(page) == []


def test_the_models_page_counts_along(open_page: Callable[..., Page], study: Study) -> None:
    run = ask(study, "bigrams", batch_tokens=400)
    page = open_page("/lab/studies/memory/models/?source=human")
    page.clock.install()
    page.reload()
    expect(page.locator(".open-state")).to_have_text("waiting, 0 of 12")
    page.get_by_label("Model arguments").fill("half typed")
    score(run)
    page.clock.fast_forward(10_100)
    expect(page.get_by_role("heading", name="Under way")).to_have_count(0)
    expect(page.locator(".dot-list li")).to_have_count(1)
    expect(page.get_by_label("Model arguments")).to_have_value("half typed")
    expect(page.get_by_role("table").locator("tbody tr td").nth(2)).to_have_text("8")
    assert "source=human" in page.url


def test_without_javascript_everything_works_by_reloading(
    open_page: Callable[..., Page], study: Study
) -> None:
    page = open_page("/lab/studies/memory/models/", java_script_enabled=False)
    page.get_by_label("Model arguments").fill("pretrained=bigrams")
    page.get_by_role("button", name="Start scoring").click()
    expect(page.get_by_role("heading", name="Waiting")).to_be_visible()
    page.get_by_role("button", name="Stop this run").click()
    expect(page.get_by_role("heading", name="Stopped")).to_be_visible()
    page.get_by_role("button", name="Go on with it").click()
    score(ScoringRun.objects.get())
    page.reload()
    expect(page.get_by_role("heading", name="Finished")).to_be_visible()


@pytest.fixture
def scored(study: Study) -> dict[str, ScoringRun]:
    """Runs in every state, with the longest words that may come."""
    chosen = ModelSet.objects.create(study=study, name="the paper's models")
    imported = published(study, "meta-llama/Llama-2-70b-chat-hf")
    chosen.members.create(language_model=imported.language_model, position=0)
    long = ask(study, f"org/{'long-name-' * 15}", prompt="clean")
    LanguageModel.objects.filter(pk=long.language_model_id).update(is_demo=True)
    states = {
        "imported": imported,
        "finished": finish(
            long,
            9,
            near=2,
            identity={
                "model": "/srv/" + "deep/" * 40,
                "weights_sha256": "0123456789abcdef" * 4,
                "rungs_refused": {"packed": "differs by 0.2 nat from one text at a time"},
            },
        ),
        "failed": finish(ask(study, "lab/failed"), 2, status="failed", error="No. " * 200),
        "waiting": ask(study, "lab/waiting", condition="isolated"),
    }
    UnscoredText.objects.create(run=long, name="x" * 190, reason="needs 3,000 tokens " * 9, unit=1)
    return states


def test_every_page_fits_and_is_accessible_at_any_width(
    open_page: Callable[..., Page], scored: dict[str, ScoringRun]
) -> None:
    page = open_page("/lab/studies/memory/models/")
    found = faults(page)
    for name in ("imported", "finished", "failed", "waiting"):
        page.goto(f"/lab/studies/memory/models/{scored[name].pk}/")
        found += faults(page)
    page.goto("/lab/studies/memory/models/?condition=isolated&source=machine")
    found += faults(page)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Model arguments").fill("trust_remote_code=1")
    page.get_by_label("Only the first").fill("0")
    page.get_by_role("button", name="Start scoring").click()
    expect(page.locator(".field-error")).to_have_count(2)
    found += faults(page)
    page.goto("/lab/studies/memory/")
    # A link to be copied is longer than its field
    found += [fault for fault in faults(page) if "INPUT.copy-text" not in fault]
    assert "\n".join(found) == ""


def test_an_error_is_shown_with_its_field(open_page: Callable[..., Page]) -> None:
    page = open_page("/lab/studies/memory/models/")
    page.get_by_label("Model arguments").fill("nonsense")
    page.get_by_role("button", name="Start scoring").click()
    field = page.get_by_label("Model arguments")
    expect(field).to_have_accessible_description(
        re.compile("“nonsense” is not written as name=value")
    )
    expect(field).to_have_attribute("aria-invalid", "true")
