"""JSON that people or other servers send. Python's own reader also takes NaN, Infinity and 1e400, which no database keeps as JSON."""

import json
import math
from typing import Any, NoReturn


def loads(text: str | bytes, **options: Any) -> Any:
    """As json.loads, but numbers are finite.

    Raises:
        ValueError: this is no JSON, or a number in it is none or too large.

    >>> loads('{"a": [1.5, -2e3]}')
    {'a': [1.5, -2000.0]}
    """
    return json.loads(text, parse_float=_finite, parse_constant=_refused, **options)


def loads_with_gaps(text: str | bytes) -> Any:
    """As `loads`, with None for such a number: other programs' logs hold them beside what is read.

    >>> loads_with_gaps('{"stderr": NaN, "n": 1}')
    {'stderr': None, 'n': 1}
    """

    def finite(written: str) -> float | None:
        number = float(written)
        return number if math.isfinite(number) else None

    return json.loads(text, parse_float=finite, parse_constant=lambda _: None)


def _finite(written: str) -> float:
    number = float(written)
    return number if math.isfinite(number) else _refused(written[:20])


def _refused(written: str) -> NoReturn:
    raise ValueError(f"{written} is not a number that JSON can keep")
