"""Pages of a list in a stable order: a cursor says after which row the next one begins, whatever is added meanwhile.

The database goes straight to that row, and nothing is counted: the last page costs what the first one does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from django.core import signing
from django.db.models import Q, QuerySet
from django.utils import timezone
from rest_framework import serializers

USUAL, MOST = 100, 1000
SALT = "api cursor"
LASTS_S = 24 * 3600  # from a list's first page to its last
Rows = QuerySet[Any] | Sequence[Any]


@dataclass(frozen=True, slots=True)
class Order:
    """By these columns, none of them ever empty; the last make a row unique."""

    name: str
    columns: tuple[str, ...]

    @property
    def descends(self) -> bool:
        return self.name.startswith("-")

    def of(self, row: Any) -> list[Any]:
        """The values of a row's columns."""
        return [reduce(getattr, column.split("__"), row) for column in self.columns]

    def sort(self, rows: Rows) -> Rows:
        if isinstance(rows, QuerySet):
            sign = "-" if self.descends else ""
            return rows.order_by(*(f"{sign}{column}" for column in self.columns))
        return sorted(rows, key=self.of, reverse=self.descends)

    def after(self, rows: Rows, values: list[Any]) -> Rows:
        """The rows that come after one with these values."""
        if isinstance(rows, QuerySet):
            return rows.filter(self._beyond(values))
        return [
            row
            for row in rows
            if (self.of(row) < values) == self.descends and self.of(row) != values
        ]

    def _beyond(self, values: list[Any]) -> Q:
        """(a, b) > (x, y), spelt out: a > x or (a = x and b > y)."""
        than = "lt" if self.descends else "gt"
        found, same = Q(), Q()
        for column, value in zip(self.columns, values, strict=True):
            found |= same & Q(**{f"{column}__{than}": value})
            same &= Q(**{column: value})
        return found


class Ordering(serializers.ChoiceField):
    """The parameter `ordering`: names of orders, each also backwards with a minus; the first is the usual one."""

    def __init__(self, **orders: tuple[str, ...]) -> None:
        self.orders = orders
        names = [name for order in orders for name in (order, f"-{order}")]
        super().__init__(choices=names, default=names[0])

    def to_internal_value(self, data: Any) -> Order:  # type: ignore[override]
        name = str(super().to_internal_value(data))
        return Order(name, self.orders[name.lstrip("-")])

    def get_default(self) -> Any:
        return self.to_internal_value(super().get_default())


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Any]
    next: str | None  # the next page's cursor


def page(rows: Rows, order: Order, cursor: str | None, limit: int = USUAL, query: str = "") -> Page:
    """Some rows of what a query selects.

    Raises:
        ValidationError: the cursor is none that was given for this query and order, or too old.
    """
    rows, query = order.sort(rows), f"{order.name} {query}"
    began, after = read_cursor(cursor, query, len(order.columns))
    if after is not None:
        rows = order.after(rows, after)
    found = list(rows[: limit + 1])
    if len(found) <= limit:
        return Page(found, None)
    return Page(found[:limit], cursor_after(query, began, order.of(found[limit - 1])))


def cursor_after(query: str, began: int, values: list[Any]) -> str:
    """A cursor of this query alone, behind a row with these values; the first page was read at `began` (seconds)."""
    return signing.dumps([began, *values], salt=f"{SALT} {query}")


def read_cursor(cursor: str | None, query: str, n: int) -> tuple[int, list[Any] | None]:
    """When the first page was read, and the `n` values of a cursor; without one, now and nothing.

    Raises:
        ValidationError: it is none that was given for this query, or too old.
    """
    now = int(timezone.now().timestamp())
    if cursor is None:
        return now, None
    # Signed: nobody can ask the database for values that no row had, nor go on with what was not asked
    try:
        began, *values = signing.loads(cursor, salt=f"{SALT} {query}")
    except (signing.BadSignature, ValueError) as error:
        message = (
            "This is not a cursor of this query and token. Use `next` from the previous page, "
            "unchanged."
        )
        raise serializers.ValidationError({"cursor": message}) from error
    if now - began > LASTS_S:
        message = "The first page was read more than a day ago. Start again from the first page."
        raise serializers.ValidationError({"cursor": message})
    assert len(values) == n
    return began, values
