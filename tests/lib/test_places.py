"""A web process has fewer transactions open than threads; what needs none is answered while they wait."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.utils import OperationalError

from lib.fast import places
from lib.fast.places import BRIEFLY_S, Places


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(places, "BRIEFLY_S", 60)


@pytest.mark.usefixtures("patient")
def test_a_waiting_caller_takes_the_next_free_place() -> None:
    two = Places(2)
    two.take()
    two.take()
    threading.Timer(0.2, two.leave).start()
    two.take()
    assert two.free == 0


def test_the_first_caller_without_a_place_waits_briefly_and_the_next_not_at_all() -> None:
    one = Places(1)
    one.take()
    began = time.monotonic()
    for _ in range(50):
        with pytest.raises(OperationalError, match="all transactions"):
            one.take()
    assert time.monotonic() - began < 10 * BRIEFLY_S
    one.leave()
    one.take()
    one.leave()
    assert one.free == 1


@pytest.mark.usefixtures("patient")
def test_a_place_that_was_taken_long_ago_is_no_reason_to_refuse_at_once() -> None:
    """After a quiet night all places may go within a moment: whoever comes next waits for one."""
    two = Places(2)
    two.take()
    two._changed_at -= 3600
    two.take()
    threading.Timer(0.2, two.leave).start()
    two.take()


@pytest.fixture
def connect(transactional_db: None) -> Iterator[Callable[[], Any]]:
    """Connections of one process that may have a single transaction open."""
    opened = []

    def another() -> Any:
        own: Any = connection.copy()
        own.settings_dict = {**own.settings_dict, "MOST_TRANSACTIONS": 1}
        opened.append(own)
        return own

    places._places.clear()
    yield another
    for own in opened:
        own.close()
    places._places.clear()


def begin(own: Any) -> None:
    own.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_a_transaction_has_its_place_until_it_ends_however_it_ends(
    connect: Callable[[], Any], end: str
) -> None:
    one, other = connect(), connect()
    begin(one)
    with pytest.raises(OperationalError, match="all transactions"):
        begin(other)
    with other.cursor() as cursor:  # what is only read needs none
        cursor.execute("SELECT count(*) FROM experiment_study")
        assert cursor.fetchone() == (0,)
    getattr(one, end)()
    if end != "close":
        one.set_autocommit(True)
    begin(other)
    other.rollback()
    other.set_autocommit(True)


def test_a_transaction_that_does_not_begin_gives_its_place_back(
    connect: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = connect()
    one.ensure_connection()
    with monkeypatch.context() as lost:
        lost.setattr(one, "connection", Lost())
        with pytest.raises(Exception, match="gone"):
            begin(one)
    begin(one)
    one.rollback()
    one.set_autocommit(True)


class Lost:
    """A connection that nothing can be asked of."""

    def __getattr__(self, name: str) -> Any:
        raise OperationalError("gone")

    def __setattr__(self, name: str, value: object) -> None:
        raise OperationalError("gone")
