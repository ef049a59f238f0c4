"""Accidents of a request in this process: its connection to the database is cut, or a statement of its ends in the midst; and the clock."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import close_old_connections, connection
from django.utils import timezone

KINDS = ("cut", "cancelled")
_now = timezone.now


class Fault:
    """Strikes at the n-th statement of a request, once."""

    def __init__(self, kind: str, at: int) -> None:
        self.kind, self.left, self.struck = kind, at, False

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        self.left -= 1
        if self.left or self.struck:
            return execute(sql, params, many, context)
        self.struck = True
        if connection.vendor == "sqlite":
            return self._interrupted(lambda: execute(sql, params, many, context))
        if self.kind == "cut":
            _terminate(connection.connection.info.backend_pid)
        else:
            _cancel()
        return execute(sql, params, many, context)

    def _interrupted(self, execute: Callable[[], Any]) -> Any:
        """SQLite has no server: the statement is interrupted, as by its own time limit."""
        raw = connection.connection
        raw.set_progress_handler(lambda: 1, 1)
        try:
            return execute()
        finally:
            raw.set_progress_handler(None, 0)


def _terminate(pid: int) -> None:
    info = connection.connection.info
    with psycopg.connect(
        info.dsn, password=info.password, dbname=info.dbname, autocommit=True
    ) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def _cancel() -> None:
    """The server itself ends a statement that takes too long."""
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 1")
        try:
            cursor.execute("SELECT pg_sleep(10)")
        finally:
            if not connection.in_atomic_block:
                cursor.execute("SET statement_timeout = 0")


@contextmanager
def befallen(fault: Fault | None) -> Iterator[None]:
    """A request in the block meets the fault; connections that broke are closed after it, as a server does."""
    if fault is None:
        yield
    else:
        with connection.execute_wrapper(fault):
            yield
    close_old_connections()


def forget_process_state() -> None:
    """Forgets what a process keeps in memory, as another one does not have it."""
    from experiment.services import channels, counts, drawing, study_language
    from lib.fast import kept

    kept.forget()
    counts.forget_durations()
    channels.forget()
    drawing.known_item.cache_clear()
    study_language.own_texts.cache_clear()


class Clock:
    """The site's clock, which can be set forth and back."""

    def __init__(self) -> None:
        self.offset = timedelta()
        self._patch = patch.object(timezone, "now", self.now)
        self._patch.start()

    def now(self) -> datetime:
        return _now() + self.offset

    def stop(self) -> None:
        self._patch.stop()
