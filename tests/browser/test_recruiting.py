"""A researcher tries a study on simulated people, adds a channel, and a participant comes by it, in browsers."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from experiment.models import DryRun, Participant, Study
from experiment.services.study_setup import set_recruitment
from experiment.simulation import dry_run
from tests.browser.accessibility import faults
from tests.browser.visitor import Visitor
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study() -> Study:
    return make_study(human=12, machine=6, catch=3)


def test_a_dry_run_is_seen_to_go_on_and_to_end(
    open_page: Callable[..., Page], study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(f"/lab/studies/{study.slug}/dry-runs/")
    found = faults(page)
    page.get_by_label("Participants who finish").fill("4")
    page.clock.install()
    page.get_by_role("button", name="Start the dry run").click()
    expect(page.get_by_text("Waiting for the worker")).to_be_visible()
    found += faults(page)
    simulate = dry_run.simulate

    def watched(*arguments: Any) -> Any:
        for done in simulate(*arguments):
            yield done
            DryRun.objects.update(done=done)
            if not seen.is_set():
                page.clock.run_for(3_000)
                expect(page.get_by_text("pages seen")).to_be_visible()
                seen.set()

    seen = Event()
    monkeypatch.setattr("experiment.simulation.run.PAGES_PER_COMMIT", 20)
    monkeypatch.setattr(dry_run, "simulate", watched)
    assert dry_run.run(DryRun.objects.get()).status == "finished"
    connections.close_all()
    page.clock.run_for(3_000)
    expect(page.get_by_text("Have to start")).to_be_visible()
    found += faults(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Sample export").click()
    assert download.value.suggested_filename.startswith("memory-simulated")
    assert (found, seen.is_set()) == ([], True)


def test_a_channels_link_leads_to_its_code_at_the_end(
    open_page: Callable[..., Page], study: Study, visit: Callable[..., Visitor]
) -> None:
    page = open_page(f"/lab/studies/{study.slug}/recruitment/")
    page.get_by_role("link", name="Add a channel").click()
    expect(page.get_by_role("heading", name="New channel")).to_be_visible()
    found = faults(page)
    page.get_by_label("Name", exact=True).fill("Prolific UK")
    page.get_by_label("Short name").fill("uk")
    page.get_by_label("They come from").select_option("prolific")
    page.get_by_label("Code for who finishes").fill("C0DE-UK")
    page.get_by_label("Address for who does not agree").fill("https://app.prolific.com/out")
    page.get_by_role("button", name="Save the channel").click()
    expect(page.get_by_role("heading", name="Prolific UK")).to_be_visible()
    found += faults(page)
    link = page.locator(".copy-text", has_text="channel=uk").inner_text()
    page.goto(f"/lab/studies/{study.slug}/documents/")
    assert found + faults(page) == []

    study.refresh_from_db()
    set_recruitment(study, "open")
    visitor = visit(study)
    query = link.partition("?")[2].replace("{{%PROLIFIC_PID%}}", "p1")
    visitor.enter("?" + query.replace("{{%STUDY_ID%}}", "s1").replace("{{%SESSION_ID%}}", "x1"))
    visitor.button("I agree").click()
    visitor.is_at("about-you")
    Participant.objects.update(stage="debrief")
    visitor.enter()
    expect(visitor.page.get_by_text("C0DE-UK")).to_have_count(0)
    visitor.finish()
    expect(visitor.page.get_by_text("C0DE-UK")).to_be_visible()
