"""PostgreSQL reads no large table as a whole, whatever page is opened in a study of 10,000 finished participants."""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.growth import works
from benchmarks.growth.filling import Crowd
from benchmarks.growth.measuring import as_served
from experiment.models import Participant, Study
from tests.factories import make_study

WHOLE = re.compile(r"Seq Scan on experiment_(participant|trial|judgment)\b")


@pytest.fixture
def study(db: None) -> Iterator[Study]:
    study = make_study(recruitment="open", target_valid=1_000_000)
    Crowd(study, 100).grow(10_000)
    with as_served():
        yield study


def plans(work: works.Work) -> Iterator[tuple[str, str]]:
    """Each query of the work, and how PostgreSQL would answer it."""
    with CaptureQueriesContext(connection) as captured:
        work()
    for query in captured.captured_queries:
        sql = query["sql"]
        if sql.startswith(("SELECT", "(SELECT", "UPDATE")):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {sql}")
                yield sql, "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.postgres
def test_no_page_and_no_draw_reads_all_participants_trials_or_judgments(study: Study) -> None:
    for work in works.draws(study, 1):
        work()
    opened = {"draw": works.draws(study, 1), "consent": works.consents(study, 1)}
    opened |= works.pages(study, 1)
    found = {
        (name, sql)
        for name, every in opened.items()
        for sql, plan in plans(next(every))
        if WHOLE.search(plan)
    }
    assert found == set()
    # The search would find one
    people = Participant.objects.filter(comments__contains="nobody wrote this")
    ((_, plan),) = plans(lambda: list(people))
    assert WHOLE.search(plan)
