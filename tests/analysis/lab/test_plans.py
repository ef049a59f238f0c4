"""On PostgreSQL, with 10,000 trials: no page about results reads all of them before anything is computed."""

import re
from itertools import product

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from benchmarks.analysis.crowd import make_crowd
from experiment.models import Participant, Study
from experiment.services.recounting import recount
from tests.factories import make_user

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.usefixtures("var_dir"),
]
SCAN = re.compile(r"Seq Scan on experiment_(trial|judgment)\b")
PAGES = ("results", "results_live", "results_teams", "results_trace", "scoring")


@pytest.fixture
def crowd() -> Study:
    study = make_crowd(10_000, n_items=50, n_models=2)
    Participant.objects.update(kind="real", consented_at=timezone.now())
    for kind in ("imported", "real"):
        recount(study, kind)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return study


def plans(queries: CaptureQueriesContext) -> list[str]:
    """The plan of each query that reads."""
    found = []
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            if query["sql"].startswith("SELECT"):
                cursor.execute("EXPLAIN " + query["sql"])
                found.append("\n".join(row[0] for row in cursor.fetchall()))
    return found


def test_no_page_about_results_scans_trials_or_judgments(
    client: Client, crowd: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lib.jobs.worker.start_process", lambda job: None)
    client.force_login(make_user("ruth", crowd))
    for page, query in product(PAGES, ("", "?trials=all")):
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(reverse(f"lab:{page}", args=[crowd.slug]) + query)
        assert answer.status_code == 200, page
        made = plans(asked)
        assert made
        assert [plan for plan in made if SCAN.search(plan)] == [], page
    with CaptureQueriesContext(connection) as asked:
        list(Participant.objects.filter(trials__judgment__correct=True).values_list("pk"))
    assert any(SCAN.search(plan) for plan in plans(asked)), "one that scans is found"
