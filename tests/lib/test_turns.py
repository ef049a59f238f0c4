"""SQLite's lock for writing is taken in turn by the threads of a process, and by processes in a few milliseconds."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.utils import OperationalError

from lib.fast.sqlite3.base import DatabaseWrapper
from lib.turns import Turns

pytestmark = pytest.mark.sqlite


@pytest.fixture
def connect(tmp_path: Path, django_db_blocker: Any) -> Iterator[Callable[..., DatabaseWrapper]]:
    known = connections["default"].settings_dict

    def opened(timeout: float = 5) -> DatabaseWrapper:
        options = {"transaction_mode": "IMMEDIATE", "timeout": timeout}
        init = {"init_command": "PRAGMA journal_mode=WAL;"}
        values = {"NAME": tmp_path / "turns.db", "OPTIONS": options | init, "TEST": {}}
        return DatabaseWrapper({**known, **values, "ENGINE": "lib.fast.sqlite3"}, "turns")

    with django_db_blocker.unblock():
        with closing(opened()) as first:
            first.cursor().execute("CREATE TABLE seen (thread INTEGER)")
        yield opened


@contextmanager
def writing(connection: DatabaseWrapper) -> Iterator[None]:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        yield
    finally:
        connection.commit()
        connection.set_autocommit(True)


def test_the_longest_waiting_thread_is_next() -> None:
    turns, order, threads = Turns(), list[int](), list[threading.Thread]()
    assert turns.acquire(1)

    def wait(number: int) -> None:
        assert turns.acquire(60)
        order.append(number)
        turns.release()

    for number in range(8):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while len(turns.waiting) <= number:
            time.sleep(0.001)
    assert not turns.acquire(0.01)
    turns.release()
    for thread in threads:
        thread.join()
    assert order == list(range(8))
    assert turns.acquire(0)


def test_a_turn_ends_with_its_transaction_however_it_ends(
    connect: Callable[..., DatabaseWrapper],
) -> None:
    with closing(connect(timeout=0.2)) as one, closing(connect(timeout=0.2)) as other:
        for end in (one.commit, one.rollback, one.close):
            one.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
            with pytest.raises(OperationalError, match="locked"):
                other.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
            end()
            if one.connection is not None:
                one.set_autocommit(True)
            with writing(other):
                pass


def test_another_process_lock_is_waited_for_as_long_as_asked(
    connect: Callable[..., DatabaseWrapper], tmp_path: Path
) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "turns.db", isolation_level=None)) as stranger,
        closing(connect(timeout=0.3)) as own,
    ):
        stranger.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(OperationalError, match="locked"), writing(own):
            pass
        assert time.monotonic() - began > 0.25
        stranger.execute("COMMIT")
        with writing(own):
            own.cursor().execute("INSERT INTO seen VALUES (1)")
