"""The team page in a real browser: members are ticked, and the answer follows; accessible to all, at any width."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import Page, expect

from experiment.models import Participant, Study
from experiment.services.recounting import recount
from scoring.models import LanguageModel
from tests.analysis.teams import made_teams
from tests.browser.accessibility import faults
from tests.factories import answers_open, make_participant, make_study
from tests.scoring.lab.rows import ask, finish
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db(transaction=True)
TEAMS = "/lab/studies/memory/results/teams/"
LONG = "an-organisation-with-a-long-name/" + "a-language-model-" * 5 + "7b-chat"


@pytest.fixture(autouse=True)
def results_dir(settings: Any, tmp_path: Any) -> None:
    settings.VAR_DIR = tmp_path
    settings.JOB_EXECUTOR = "inline"
    store_files_in(settings, tmp_path)


@pytest.fixture
def stubbed(monkeypatch: Any) -> None:
    """Figures that are never drawn."""
    monkeypatch.setattr("analysis.teams.services.draw_teams", made_teams.figures)


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study)
    make_participant(study, judgment={"correct": False, "confidence": 20})
    for n in range(3):
        finish(ask(study, f"lab/{n}"), right=5 + n)
    LanguageModel.objects.update(display_name=F("name"))
    return study


@pytest.fixture
def crowded(study: Study) -> None:
    """Thirty models of a few families, some with names that no line holds."""
    for n in range(3, 30):
        finish(ask(study, f"lab/{n}" if n % 7 else f"{LONG}-{n}"), right=4 + n % 9)
    for model in LanguageModel.objects.all():
        model.display_name = model.name[-78:]
        model.family = f"Family {model.pk % 5}" if model.pk % 5 else ""
        model.save()


@pytest.mark.usefixtures("stubbed")
def test_members_are_ticked_combined_and_unticked_without_any_script(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("/lab/studies/memory/results/", java_script_enabled=False)
    page.get_by_role("link", name="Teams", exact=True).click()
    expect(
        page.get_by_role("heading", name="Do people and models decide better together?")
    ).to_be_visible()
    expect(page.get_by_label("Human", exact=False).first).to_be_checked()

    page.get_by_label("lab/0").uncheck()
    page.get_by_label("Majority").check()
    page.get_by_role("button", name="Combine").click()
    expect(page.get_by_role("heading", name="Human + lab/1 + lab/2")).to_be_visible()
    expect(
        page.get_by_text(re.compile("Adding one expert to .* changes accuracy by"))
    ).to_be_visible()
    assert "members=human&members=lab%2F1&members=lab%2F2&method=majority" in page.url
    expect(page.get_by_label("lab/0")).not_to_be_checked()
    expect(page.get_by_label("Majority")).to_be_checked()
    expect(page.get_by_alt_text("Alt of teams")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Held-out predictions").click()
    assert download.value.path().read_bytes().startswith(b"trial,participant,")


@pytest.mark.usefixtures("stubbed")
def test_the_button_says_that_a_team_is_computed_until_a_page_is_shown(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(TEAMS)
    form = page.locator("form.team-form")
    status = form.get_by_role("status")
    expect(status).to_be_empty()
    # The answer never comes, since the browser's tools look at no page that is being left
    page.evaluate("addEventListener('submit', (event) => event.preventDefault(), { once: true })")
    page.get_by_role("button", name="Combine").click()
    expect(form.get_by_role("button", name="Combining …")).to_be_enabled()
    expect(form).to_have_attribute("aria-busy", "true")
    expect(status).to_contain_text("may take up to a minute")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(form.get_by_role("button", name="Combine", exact=True)).to_be_visible()
    expect(form).to_have_attribute("aria-busy", "false")
    expect(status).to_be_empty()

    # Nothing ticked is no one, not the usual; and the form goes out
    for box in page.get_by_role("checkbox", checked=True).all()[::-1]:
        box.uncheck()
    page.get_by_role("button", name="Combine").click()
    expect(page.get_by_role("heading", name="No one is in the team")).to_be_visible()
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(0)


@pytest.mark.usefixtures("stubbed", "crowded")
def test_thirty_models_with_long_names_fit_and_are_accessible(
    open_page: Callable[..., Page],
) -> None:
    names = LanguageModel.objects.values_list("name", flat=True)[24:30]
    query = "&".join(f"members={name}" for name in names)
    page = open_page(f"{TEAMS}?members=human&members=nobody&{query}")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    assert page.get_by_role("checkbox").count() == 33

    assert "\n".join(faults(page)) == ""


def test_a_small_study_is_tried_for_real(open_page: Callable[..., Page]) -> None:
    page = open_page(TEAMS)
    page.get_by_role("button", name="Combine").click()
    expect(page.get_by_role("heading", name="All teams of these members")).to_be_visible(
        timeout=60_000
    )
    assert page.locator("figure").count() >= 1
    assert "\n".join(faults(page)) == ""


def test_an_empty_study_says_what_it_takes(open_page: Callable[..., Page], study: Study) -> None:
    with answers_open():
        study.participants.all().delete()
    for kind in Participant.Kind:
        recount(study, kind)
    study.scoring_runs.all().delete()
    page = open_page(TEAMS)
    expect(page.get_by_role("heading", name="No one to combine yet")).to_be_visible()
    expect(page.get_by_role("button", name="Combine")).to_have_count(0)
    assert "\n".join(faults(page)) == ""
