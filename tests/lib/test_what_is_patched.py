"""lib/fast reaches below what Django documents: what it reaches is as it was when it was read."""

import hashlib
import inspect
from typing import Any

import django
import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import DatabaseWrapper as PostgreSQL
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.backends.sqlite3.base import DatabaseWrapper as SQLite
from django.db.models import query
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import Atomic

# By the module that leans on it: the first digits of its source's SHA-256
READ: dict[str, dict[Any, str]] = {
    "lib/fast/prepared.py": {
        query.ModelIterable: "808b7a3ce846",
        query.ValuesListIterable: "733d8924be99",
        query.FlatValuesListIterable: "3953b1aad773",
        Query.chain: "8fe79719a121",
        Query.get_compiler: "e4f5a2509c95",
        Query.sql_with_params: "ea303db591a7",
        SQLCompiler.execute_sql: "c1be0e0faedc",
        SQLCompiler.results_iter: "d279d61b80a3",
    },
    "lib/fast/last.py": {
        BaseDatabaseWrapper.commit: "54b37694faec",
        BaseDatabaseWrapper.rollback: "40eb099b6c9b",
        BaseDatabaseWrapper.savepoint_rollback: "64a325396d5e",
        BaseDatabaseWrapper.on_commit: "3eb44439e2c5",
        Atomic.__exit__: "6c52b1e68d7d",
    },
    "lib/fast/postgres/base.py": {
        PostgreSQL.close_if_health_check_failed: "c415cad7fbd8",
        PostgreSQL._close: "8e39d0e91862",
        PostgreSQL._set_autocommit: "d3702faf3f71",
        DatabaseOperations.last_executed_query: "e661aa3890d9",
    },
    "lib/fast/sqlite3/base.py": {
        SQLite._commit: "8ebc361e1e8f",
        SQLite._rollback: "d671ec3bb3c8",
        SQLite._close: "d1a3f0e9a11c",
        SQLite._start_transaction_under_autocommit: "7315cfc61c1d",
    },
}


def test_the_series_of_django_is_the_one_that_was_read() -> None:
    assert django.VERSION[:2] == (5, 2), "read what lib/fast leans on anew: READ names it"


@pytest.mark.parametrize(
    ("module", "what", "digest"),
    [(module, what, digest) for module, read in READ.items() for what, digest in read.items()],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_patched_code_of_django_is_unchanged_since_it_was_read(
    module: str, what: Any, digest: str
) -> None:
    found = hashlib.sha256(inspect.getsource(what).encode()).hexdigest()[:12]
    assert found == digest, (
        f"Django's {what.__qualname__} is another one: read it beside {module}, run tests/lib, and write {found} here"
    )
