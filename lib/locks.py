"""Locks on things that have no row of their own, and several queries that see the database as it is at one moment."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection, models, transaction

from lib.fast.last import Last

T = TypeVar("T")


def hold(*name: object) -> None:
    """Let one transaction after the other past here, of those that name the same.

    They wait until it ends: what the whole site names is held as the last thing (`do_last`), or where little is left to do.
    """
    _ask("pg_advisory_xact_lock", name)


def hold_at_once(*name: object) -> bool:
    """As `hold`, but False where another transaction is past here, rather than wait for it."""
    return _ask("pg_try_advisory_xact_lock", name) is not False


def _ask(function: str, name: tuple[object, ...]) -> object:
    """The answer of this function of PostgreSQL's about the lock of this name; None on SQLite, where nobody else writes."""
    if connection.vendor != "postgresql":
        return None
    number = int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])
        return cursor.fetchone()[0]


def do_last(do: Callable[[list[T]], None], what: T) -> None:
    """Have it done right before the transaction is committed, with all else that `do` is asked for in it; at once outside of one.

    What is rolled back to a savepoint is not done.
    """
    with transaction.atomic():
        transaction.on_commit(Last(do, what))


def hold_shared(row: models.Model) -> None:
    """Keep the row as it is until the transaction ends, beside others who do; who would change it waits."""
    if connection.vendor == "postgresql":
        table = connection.ops.quote_name(row._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR SHARE", [row.pk])  # noqa: S608


BRIEFLY = "1s"


@contextmanager
def waiting_briefly() -> Iterator[None]:
    """A transaction for who has waited in vain before; SQLite has one lock and one time limit for all."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{BRIEFLY}'")
        yield


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads inside see the database as it is at one moment; inside a transaction, that decides."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        # Not atomic(): it begins IMMEDIATE and would keep every participant waiting.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                # It holds nobody up, and a table of a million rows takes its time
                cursor.execute("SET LOCAL statement_timeout = 0")
            yield
