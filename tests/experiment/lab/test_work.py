"""The Work pages: what of a study, or of the site, runs, waits or ended, and who may stop it."""

import pytest
from django.test import Client

from experiment.domain.trial_query import TrialQuery
from experiment.models import AuditEvent, Study
from experiment.services.export.jobs import ensure_exported
from lib.jobs import leases
from lib.jobs.queue import kinds
from scoring.models import ScoringRun
from tests.factories import make_study
from tests.scoring.lab.rows import ask, published

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/work/"


def test_the_page_shows_work_of_every_kind_of_its_own_study_alone(
    ruth: Client, boss: Client, study: Study
) -> None:
    other = make_study("other", human=3, machine=2)
    run, export = ask(study, "lab/mine"), ensure_exported(study, TrialQuery(kind="real"))
    ask(other, "lab/theirs")
    published(study)  # nobody's work
    leases.take(run)
    shown = ruth.get(PAGE)
    assert [row.job for row in shown.context["still_open"]] == [run, export]
    assert (shown.context["ended"], "lab/theirs" in shown.text) == ([], False)
    assert "No worker is running" in shown.text
    assert len(boss.get("/lab/work/").context["still_open"]) == 3


def test_work_is_stopped_and_tried_again_by_a_button(ruth: Client, study: Study) -> None:
    run = ask(study)
    ruth.post(f"{PAGE}scoring.scoringrun/{run.pk}/stop/")
    run.refresh_from_db()
    assert run.status == "cancelled"
    ScoringRun.objects.update(
        status="failed", error="The server is gone.", started_at="2026-01-01T00:00Z"
    )
    page = ruth.get(PAGE).text
    assert "The server is gone." in page
    assert "Try again" in page
    ruth.post(f"{PAGE}scoring.scoringrun/{run.pk}/retry/")
    run.refresh_from_db()
    assert run.status == "waiting"
    trail = AuditEvent.objects.filter(action__startswith="work_").order_by("pk")
    assert list(trail.values_list("action", "actor")) == [
        ("work_stopped", "ruth"),
        ("work_started", "ruth"),
    ]


def test_no_kind_but_those_of_workers_is_found(ruth: Client, boss: Client, study: Study) -> None:
    run = ask(make_study("other", human=3, machine=2), "lab/theirs")
    for kind, pk in (("scoring.scoringrun", run.pk), ("auth.user", 1), ("x", 1)):
        assert ruth.post(f"{PAGE}{kind}/{pk}/stop/").status_code == 404
    assert boss.post(f"/lab/work/auth.user/{study.pk}/stop/").status_code == 404
    assert ruth.get("/lab/work/").status_code == 403


def test_the_page_costs_the_same_however_much_was_done(
    ruth: Client, study: Study, django_assert_max_num_queries: object
) -> None:
    for n in range(5):
        ask(study, f"lab/{n}")
    with django_assert_max_num_queries(10 + 4 * len(kinds())):  # type: ignore[operator]
        ruth.get(PAGE)
