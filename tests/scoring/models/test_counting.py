"""The runs that count in a study: its own, those of people who may ask for runs in it, and the site's; no other lab's."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client

from analysis.data import item_figures
from analysis.data.filters import ReportOptions
from analysis.data.version import data_version
from analysis.lab.team_members import offered_models
from analysis.services.advisers import sources_of
from experiment.models import Membership, Study
from scoring.models import ChoiceRun, ScoringRun
from scoring.services import runs
from scoring.services.asking.settings import Asked
from scoring.services.choosing import runs as choosing
from scoring.services.open_model import ensure_language_model
from scoring.services.runs import create_run, queue_runs
from tests.analysis.data.choosing import choose
from tests.analysis.data.scored import read, score
from tests.factories import make_other_study, make_study, make_user

pytestmark = pytest.mark.django_db
FORGED = "lab/forged"
Make = Callable[..., Any]
MAKE: dict[str, Make] = {"scores": score, "choices": choose}


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def other(study: Study) -> Study:
    return make_other_study(study)


def counts(run: Any, study: Study) -> bool:
    return type(run).objects.seen_in([study]).filter(pk=run.pk).exists()


@pytest.mark.parametrize("kind", MAKE)
def test_a_run_counts_where_its_asker_may_ask_for_runs(
    kind: str, study: Study, other: Study
) -> None:
    user = make_user("mallory", other)
    run = MAKE[kind](other, FORGED, created_by=user)
    assert (counts(run, other), counts(run, study)) == (True, False)
    membership = Membership.objects.create(study=study, user=user, role="auditor")
    assert not counts(run, study)
    before = data_version(study)
    Membership.objects.filter(pk=membership.pk).update(role="researcher")
    assert counts(run, study)
    assert data_version(study) != before
    membership.delete()
    assert data_version(study) == before


@pytest.mark.parametrize("kind", MAKE)
def test_a_run_of_nobody_counts_elsewhere_only_as_one_of_the_site(
    kind: str, study: Study, other: Study
) -> None:
    """An account may be deleted: its runs are no more to be believed than before."""
    user = make_user("mallory", other)
    theirs = MAKE[kind](other, FORGED, created_by=user)
    user.delete()
    assert (counts(theirs, other), counts(theirs, study)) == (True, False)
    assert counts(MAKE[kind](other, FORGED, is_site_wide=True), study)


@pytest.mark.parametrize("kind", MAKE)
def test_nothing_that_another_lab_asked_for_is_seen_in_a_study(
    kind: str, study: Study, other: Study, client: Client
) -> None:
    user, ruth = make_user("mallory", other), make_user("ruth", study)
    score(study, "org/a")
    before = data_version(study)
    MAKE[kind](other, FORGED, created_by=user)
    MAKE[kind](other, "org/a", created_by=user)  # newer
    client.force_login(ruth)
    own = Study.objects.filter(pk=study.pk)
    items = study.items.values("pk")
    seen = [
        set(read(study).models["name"]),
        set(offered_models(study, ReportOptions(source="human"))),
        set(sources_of(study)["model"]),
        {row.run.language_model.name for row in item_figures.whole_text_scores(items, own)},
    ]
    assert seen == [{"org/a"}] * 4
    assert data_version(study) == before
    for page in ("models/", "choices/", "results/"):
        assert FORGED not in client.get(f"/lab/{study.slug}/{page}").content.decode()


def test_an_item_is_as_hard_as_the_runs_that_count_say(study: Study, other: Study) -> None:
    score(study, "org/a")
    score(other, FORGED, ppl=(9.0, 1.0), created_by=make_user("mallory", other))
    item = study.items.filter(kind="test").values_list("pk", flat=True)[:1]
    found = item_figures.model_figures(list(item), Study.objects.filter(pk=study.pk))
    assert [(figures.n, figures.n_right) for figures in found.values()] == [(1, 1)]


def test_a_model_that_was_scored_twice_counts_by_the_run_that_results_take(study: Study) -> None:
    score(study, "org/a")
    item = study.items.filter(kind="test").values_list("pk", flat=True)[:1]
    newer = score(study, "org/a", ppl=(9.0, 1.0))
    ScoringRun.objects.exclude(pk=newer.pk).update(done=8)
    ScoringRun.objects.filter(pk=newer.pk).update(done=1)
    found = item_figures.model_figures(list(item), Study.objects.filter(pk=study.pk))
    assert [(figures.n, figures.n_right) for figures in found.values()] == [(1, 1)]


@pytest.mark.parametrize("is_admin", [True, False])
def test_an_administrators_run_is_site_wide_until_a_team_resumes_it(
    is_admin: bool, study: Study
) -> None:
    boss, ruth = User.objects.create_superuser("boss"), make_user("ruth", study)
    by = boss if is_admin else ruth
    asked = {"backend": "embedded", "model_args": {}, "conditions": ["full"]}
    [run] = queue_runs(study, user=by, **asked).waiting
    chosen = choosing.start(choosing.choice_run(study, Asked("embedded", {}), by=by), by)
    assert [run.is_site_wide, chosen.is_site_wide] == [is_admin, is_admin]
    for model in (ScoringRun, ChoiceRun):
        model.objects.update(status="failed")
    [run] = queue_runs(study, user=boss, **asked).waiting
    chosen.refresh_from_db()
    chosen = choosing.resume(chosen, boss)
    assert [run.is_site_wide, chosen.is_site_wide] == [is_admin, is_admin]
    for model in (ScoringRun, ChoiceRun):
        model.objects.update(status="failed")
    run.refresh_from_db()
    chosen.refresh_from_db()
    assert not runs.resume(run, ruth).is_site_wide
    assert not choosing.resume(chosen, ruth).is_site_wide


def test_a_run_from_a_command_is_site_wide(study: Study) -> None:
    model = ensure_language_model("lab/tiny")
    asked = {"backend": "transformers", "model_args": {"pretrained": "lab/tiny"}}
    assert create_run(study=study, language_model=model, **asked).is_site_wide


def test_an_upgrade_takes_runs_of_commands_and_administrators_for_the_sites(
    study: Study,
) -> None:
    boss, ruth = User.objects.create_superuser("boss"), make_user("ruth", study)
    made = {(k, who): MAKE[k](study, created_by=who) for k in MAKE for who in (None, boss, ruth)}
    told = choose(study, generator="imported")
    import_module("scoring.migrations.0004_runs_of_the_site").name_them(apps, None)
    for (_kind, who), run in made.items():
        run.refresh_from_db()
        assert run.is_site_wide == (who != ruth)
    told.refresh_from_db()
    assert not told.is_site_wide
