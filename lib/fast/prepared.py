"""Queries whose SQL is written once, for the few that every participant's page asks.

Writing a query's SQL costs more than asking it: two fifths of a page's CPU. From one page to the next only values change;
each is found among the parameters by writing the query for two values of it.
"""

import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from django.db import connections
from django.db.models import QuerySet
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row", covariant=True)


class Prepared(Generic[Row]):
    """A query set that depends on some values, which change nothing in its SQL: no None, no lists.

    build: makes the query set for values given by position.
    examples: two different values of each, of its type (int, str, datetime or UUID).
    """

    def __init__(
        self, build: Callable[..., QuerySet[Any, Row]], *examples: tuple[Any, Any]
    ) -> None:
        self._build, self._examples = build, examples
        self._local = threading.local()

    def __call__(self, *values: Any) -> list[Row]:
        """The rows for these values, as the query set gives them."""
        written: _Written | None = getattr(self._local, "written", None)
        # A benchmark can put another database in the place of the site's
        if written is None or written.connection is not connections[written.alias]:
            written = self._local.written = _Written(self._build, self._examples)
        rows: list[Row] = written.rows(values)
        return rows


class _Query(Query):
    """A query that has a compiler already."""

    written: "_Compiler"

    def get_compiler(self, *_: Any, **__: Any) -> "_Compiler":
        return self.written


class _Compiler(SQLCompiler):
    """Asks the SQL that it wrote when it was made, each time with the parameters that it was given last."""

    def __init__(self, query: _Query, connection: Any, using: str) -> None:
        super().__init__(query, connection, using)
        self.sql, params = self.as_sql()
        self.params = list(params)
        self.new_cursor = getattr(connection, "prepared_cursor", connection.cursor)

    def execute_sql(self, *_: Any, **__: Any) -> Any:
        with self.new_cursor() as cursor:
            cursor.execute(self.sql, self.params)
            return [cursor.fetchall()]


class _Written:
    """A query set whose SQL stays as it is, on one connection; for one thread."""

    def __init__(
        self, build: Callable[..., QuerySet[Any, Any]], examples: tuple[tuple[Any, Any], ...]
    ) -> None:
        first = [value for value, _ in examples]
        self.queryset = build(*first)
        self.alias = self.queryset.db
        self.connection = connections[self.alias]
        self.make_rows = self.queryset._iterable_class
        query = cast(_Query, self.queryset.query.chain(_Query))
        query.written = self.compiler = _Compiler(query, self.connection, self.alias)
        self.queryset.query = query
        # Which value stands at which parameter; the others are always the same
        self.places: dict[int, int] = {}
        for k, (_, other) in enumerate(examples):
            sql, params = build(*first[:k], other, *first[k + 1 :]).query.sql_with_params()
            changed = [n for n, param in enumerate(params) if param != self.compiler.params[n]]
            if sql != self.compiler.sql or not changed:
                raise ValueError(f"value {k} changes another thing than parameters of the query")
            self.places |= dict.fromkeys(changed, k)

    def rows(self, values: tuple[Any, ...]) -> list[Any]:
        given = [self._adapted(value) for value in values]
        for n, k in self.places.items():
            self.compiler.params[n] = given[k]
        rows: list[Any] = list(cast("Iterable[Any]", self.make_rows(self.queryset)))
        return rows

    def _adapted(self, value: Any) -> Any:
        """As the database takes it."""
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, datetime):
            return self.connection.ops.adapt_datetimefield_value(value)
        if isinstance(value, UUID) and not self.connection.features.has_native_uuid_field:
            return value.hex
        return value
