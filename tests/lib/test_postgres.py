"""Connections to PostgreSQL: how long they wait for a lock, and what they plan once."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiment.models import Trial
from lib.fast.postgres.base import PreparedCursor
from lib.fast.prepared import Prepared
from lib.locks import waiting_briefly
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_waiting_briefly_shortens_the_lock_timeout_in_its_block_only() -> None:
    with connection.cursor() as cursor:

        def limit() -> str:
            cursor.execute("SHOW lock_timeout")
            return str(cursor.fetchone()[0])

        before = limit()
        with waiting_briefly():
            assert limit() == "1s" != before
        assert limit() == before


def test_a_statement_is_planned_once_and_logged_each_time() -> None:
    person = make_participant(make_study(), judged=2)
    find = Prepared(lambda pk: Trial.objects.filter(participant=pk).order_by("pk"), (1, 2))
    with CaptureQueriesContext(connection) as asked:
        assert [find(person.pk) for _ in range(3)] == [list(person.trials.order_by("pk"))] * 3
    assert sum("experiment_trial" in query["sql"] for query in asked) == 4  # and the list itself
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements "
            "WHERE statement LIKE '%%experiment_trial%%ORDER BY%%'"
        )
        assert cursor.fetchall() == [(3,)]


def test_nothing_is_prepared_where_the_setting_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    monkeypatch.setattr(connection.connection, "prepare_threshold", None)
    made = type(connection.prepared_cursor().cursor)
    assert made is type(connection.cursor().cursor) is not PreparedCursor


def test_no_query_is_compiled() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)
