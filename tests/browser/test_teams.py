"""The team page in a real browser: members are ticked, and the answer follows; accessible to all, at any width."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import Locator, Page, expect

from experiment.models import Study
from scoring.models import LanguageModel
from tests.analysis.data.choosing import choose
from tests.browser.accessibility import look
from tests.factories import make_participant, make_study
from tests.scoring.lab.rows import ask, finish
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study)
    make_participant(study, judgment={"correct": False, "confidence": 20})
    for n in range(3):
        finish(ask(study, f"lab/{n}"), right=5 + n)
    LanguageModel.objects.update(display_name=F("name"))
    return study


def model(page: Page, name: str) -> Locator:
    """Its box; the words beside it begin like those of the same model, asked."""
    return page.locator(f'input[type=checkbox][value="{name}"]')


def test_people_and_a_model_that_was_asked_are_combined(
    open_page: Callable[..., Page], study: Study, settings: Any, tmp_path: Any
) -> None:
    """The first team that a visitor tries: also with the same model scored, twice."""
    settings.JOB_EXECUTOR = "inline"
    store_files_in(settings, tmp_path)
    choose(study, "lab/2", lambda n, original, sample: {"side": original if n % 4 else "A"})
    page = open_page("/lab/studies/memory/results/teams/")
    for name in ("lab/0", "lab/1", "lab/2"):
        model(page, name).uncheck()
    model(page, "lab/2 (asked)").check()
    page.get_by_label("Majority").check()
    page.get_by_role("button", name="Combine").click()
    expect(page.get_by_role("heading", name="Human + lab/2 (asked)")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_text("lab/2 (asked) ties on 3 of 12 trials.")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Ties")).to_be_visible()
    look(page)

    model(page, "lab/2").check()
    page.get_by_role("button", name="Combine").click()
    expect(page.get_by_role("heading", name="Human + lab/2 + lab/2 (asked)")).to_be_visible()
    twice = "lab/2 and lab/2 (asked) are one language model, which is a member twice"
    expect(page.get_by_text(twice)).to_be_visible()
    look(page)


def test_members_are_ticked_combined_and_unticked(
    open_page: Callable[..., Page], settings: Any, tmp_path: Any
) -> None:
    settings.JOB_EXECUTOR = "inline"
    store_files_in(settings, tmp_path)
    page = open_page("/lab/studies/memory/results/teams/")
    heading = "Do people and models decide better together?"
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.get_by_label("Human", exact=False).first).to_be_checked()

    page.get_by_label("lab/0").uncheck()
    page.get_by_label("Majority").check()
    page.get_by_role("button", name="Combine").click()
    expect(page.get_by_role("heading", name="Human + lab/1 + lab/2")).to_be_visible()
    expect(
        page.get_by_text(re.compile("Adding one human to .* changes accuracy by"))
    ).to_be_visible()
    assert "members=human&members=lab%2F1&members=lab%2F2&combined_by=majority" in page.url
    expect(page.get_by_label("lab/0")).not_to_be_checked()
    expect(page.get_by_label("Majority")).to_be_checked()
    expect(page.locator("figure").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Held-out predictions").click()
    assert download.value.path().read_bytes().startswith(b"trial,participant,")
    expect(page.get_by_role("heading", name="All teams of these members")).to_be_visible()
    look(page)
