"""The end of retention in a real browser: asked for on the page, done by a worker, and the page follows."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect

from experiment.models import Participant, Purge
from experiment.services.retention import run
from tests.browser.accessibility import faults
from tests.factories import make_participant, make_study, make_user
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_follows_the_worker_to_the_end(
    browser: Browser, live_server: Any, settings: Any, tmp_path: Any
) -> None:
    store_files_in(settings, tmp_path)
    study = make_study(retain_until=timezone.localdate() - timedelta(days=1))
    make_user("ruth", study)
    make_participant(study, comments="It was me.")
    page = browser.new_context(base_url=live_server.url).new_page()
    page.goto("/lab/studies/memory/privacy/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("ruth")
    page.get_by_role("button", name="Sign in").click()
    assert faults(page) == []
    page.get_by_label("To confirm").fill("memory")
    page.get_by_role("button", name="Make these answers anonymous for good").click()
    live = page.locator("#live-purge")
    expect(live).to_contain_text("Waiting for the worker")
    expect(live).to_contain_text("No worker is running")
    assert faults(page) == []
    run(Purge.objects.get())
    expect(live).to_contain_text("Done at", timeout=30_000)
    assert faults(page) == []
    assert Participant.objects.get().comments == ""
    page.context.close()
