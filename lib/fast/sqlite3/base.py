"""Transactions of one process queue for SQLite's lock: by itself it wakes nobody, and who asks less often can wait for ever.

SQLite's own wait asks for the lock after pauses that grow to 100 ms, while others come and find it free: among some
dozens of writers a few wait for seconds, however short the transactions. Here the threads of a process stand in a
queue, and the first one asks every few milliseconds, so that as many ask as there are processes.
"""

import os
import sqlite3
import time
from collections import defaultdict

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

from lib.fast.last import DoesLast
from lib.fast.places import TakesPlaces
from lib.turns import Turns

PAUSE_S = 0.002
DEFAULT_TIMEOUT_S = 5.0  # sqlite3's own


# Of each database file
_turns: defaultdict[str, Turns] = defaultdict(Turns)
# Of its parent's threads no child has any
os.register_at_fork(after_in_child=_turns.clear)


class DatabaseWrapper(DoesLast, TakesPlaces, base.DatabaseWrapper):
    """A connection to SQLite."""

    turns: Turns | None = None

    def _start_transaction_under_autocommit(self) -> None:
        self.ensure_connection()
        timeout_s = float(self.settings_dict["OPTIONS"].get("timeout", DEFAULT_TIMEOUT_S))
        gives_up_at = time.monotonic() + timeout_s
        self.take_place()
        try:
            turns = _turns[str(self.settings_dict["NAME"])]
            if not turns.acquire(max(0.0, gives_up_at - time.monotonic())):
                raise OperationalError("database is locked")
            self.turns = turns
            self._begin(gives_up_at, timeout_s)
        except BaseException:
            self._end_turn()
            raise

    def _begin(self, gives_up_at: float, timeout_s: float) -> None:
        """Ask until the lock is ours, or the time is over."""
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    super()._start_transaction_under_autocommit()  # type: ignore[misc]
                except OperationalError as error:
                    code = getattr(error.__cause__, "sqlite_errorcode", None)
                    if code != sqlite3.SQLITE_BUSY or time.monotonic() >= gives_up_at:
                        raise
                else:
                    return
                time.sleep(PAUSE_S)
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {round(1000 * timeout_s)}")

    def _end_turn(self) -> None:
        turns, self.turns = self.turns, None
        if turns is not None:
            turns.release()
        self.leave_place()

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._end_turn()
