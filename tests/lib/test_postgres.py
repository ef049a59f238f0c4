"""Connections to PostgreSQL: when they are asked whether they live, and what they plan once."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiment.models import Trial
from lib.fast.postgres.base import TRUSTED_S, DatabaseWrapper
from lib.fast.prepared import Prepared
from lib.locks import waiting_briefly
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def wrapper(transactional_db: None) -> Iterator[DatabaseWrapper]:
    """A connection of this test's own, which checks whether it lives."""
    own = connection.copy()
    assert isinstance(own, DatabaseWrapper)
    own.settings_dict = {**own.settings_dict, "CONN_HEALTH_CHECKS": True, "CONN_MAX_AGE": None}
    yield own
    own.close()


def pid(wrapper: DatabaseWrapper) -> int:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def kill(wrapper: DatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid(wrapper)])
        assert cursor.fetchone() == (True,)


def test_a_connection_that_died_while_nobody_asked_is_replaced(wrapper: DatabaseWrapper) -> None:
    before = pid(wrapper)
    kill(wrapper)
    wrapper.close_if_unusable_or_obsolete()  # the request ends
    wrapper.used_at -= TRUSTED_S + 1
    wrapper.close_if_unusable_or_obsolete()  # another one starts
    assert pid(wrapper) != before


def test_one_that_was_used_just_now_is_not_asked(wrapper: DatabaseWrapper) -> None:
    before = pid(wrapper)
    wrapper.close_if_unusable_or_obsolete()  # a request ends
    asked = 0

    def is_usable() -> bool:
        nonlocal asked
        asked += 1
        return True

    wrapper.is_usable = is_usable  # type: ignore[method-assign]
    wrapper.close_if_unusable_or_obsolete()
    assert (pid(wrapper), asked) == (before, 0)
    wrapper.used_at -= TRUSTED_S + 1
    assert (pid(wrapper), asked) == (before, 0)  # and not amid a request, however long it takes
    wrapper.close_if_unusable_or_obsolete()
    assert (pid(wrapper), asked) == (before, 1)


def test_what_is_written_after_a_long_wait_is_committed(wrapper: DatabaseWrapper) -> None:
    before = pid(wrapper)
    wrapper.close_if_unusable_or_obsolete()  # a request starts
    for number in (1, 2):
        wrapper.set_autocommit(False)
        with wrapper.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS slow (number int)")
            cursor.execute("INSERT INTO slow VALUES (%s)", [number])
        wrapper.used_at -= TRUSTED_S + 1  # a lock was waited for
        wrapper.commit()
        wrapper.set_autocommit(True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT number FROM slow ORDER BY number")
        assert cursor.fetchall() == [(1,), (2,)]
        cursor.execute("DROP TABLE slow")
    assert pid(wrapper) == before


def test_an_error_is_followed_by_a_check_however_soon(wrapper: DatabaseWrapper) -> None:
    before = pid(wrapper)
    kill(wrapper)
    with pytest.raises(Exception, match=r"terminat|closed"):
        pid(wrapper)
    wrapper.close_if_unusable_or_obsolete()
    assert pid(wrapper) != before


def test_who_has_waited_before_waits_briefly_and_others_as_long_as_ever() -> None:
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


def test_nothing_is_prepared_where_the_setting_says_so() -> None:
    connection.ensure_connection()
    before, connection.connection.prepare_threshold = connection.connection.prepare_threshold, None
    try:
        person = make_participant(make_study(), judged=1)
        find = Prepared(lambda pk: Trial.objects.filter(participant=pk), (1, 2))
        assert find(person.pk) == list(person.trials.all())
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%experiment_trial%%'"
            )
            assert cursor.fetchone() == (0,)
    finally:
        connection.connection.prepare_threshold = before
