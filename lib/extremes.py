"""Rows with the highest or the lowest value, of which there can be several."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

# Equal numbers from sums in another order
TOLERANCE = 1e-9


def highest(rows: Iterable[T], value: Callable[[T], float]) -> list[T]:
    """All rows that share the highest value, in their order.

    >>> highest(["a", "bcd", "efg"], len)
    ['bcd', 'efg']
    """
    every = list(rows)
    most = max(map(value, every), default=0.0)
    return [row for row in every if value(row) >= most - TOLERANCE]


def lowest(rows: Iterable[T], value: Callable[[T], float]) -> list[T]:
    """All rows that share the lowest value, in their order.

    >>> lowest(["a", "bcd", "e"], len)
    ['a', 'e']
    """
    return highest(rows, lambda row: -value(row))
