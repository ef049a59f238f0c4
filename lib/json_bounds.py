"""JSON whose values are counted before they are made where pages are served: brackets take sixty times the memory of their bytes."""

from typing import Any

from lib import strict_json

MOST_VALUES = 1_000_000


def n_values(value: Any) -> int:
    """How many values there are in one, itself included.

    >>> n_values({"a": [1, 2]})
    4
    """
    n, inner = 0, [value]
    while inner:
        n += 1
        one = inner.pop()
        if isinstance(one, dict):
            inner.extend(one.values())
        elif isinstance(one, list):
            inner.extend(one)
    return n


def check_json(data: bytes) -> None:
    """
    Raises:
        ValueError: it is not JSON, or holds more values than anybody needs.
    """
    try:
        n = n_values(strict_json.loads(data))
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if n > MOST_VALUES:
        raise ValueError(f"it contains {n:,} values, but at most {MOST_VALUES:,} are read")
