"""Arguments that every server's options have: how long a request may take, and numbers in their ranges."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scoring.domain.backend import ScoringError


@dataclass(frozen=True)
class RetryPolicy:
    """Seconds for one attempt, and for all attempts of a request with the pauses between them.

    tries: attempts that the server may fail at; None for no limit. One that it only puts off, or that does not reach it,
    is none.
    """

    attempt_s: float
    total_s: float
    tries: int | None = None


def read_policy(args: Mapping[str, str], attempt_s: float, total_s: float) -> RetryPolicy:
    """`timeout` and `retry_seconds`, or these defaults; `tries` where they are given.

    Raises:
        ScoringError: one is no number in its range.
    """
    one = read_number(args, "timeout", attempt_s, 0.01, 86_400, whole=False)
    # Who waits long for one answer wants at least that one
    total = read_number(args, "retry_seconds", max(one, total_s), 0, 864_000, whole=False)
    tries = int(read_number(args, "tries", 3, 1, 100)) if "tries" in args else None
    return RetryPolicy(one, total, tries)


def read_number(
    args: Mapping[str, str],
    name: str,
    default: float,
    least: float,
    most: float,
    *,
    whole: bool = True,
    kind: str = "a number of seconds",
) -> float:
    """An argument's number.

    Raises:
        ScoringError: it is none, or out of its range.

    >>> read_number({"concurrency": "8"}, "concurrency", 4, 1, 256)
    8.0
    """
    if name not in args:
        return default
    try:
        value = float(args[name])
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and value != int(value)):
        expected = "a whole number" if whole else kind
        raise ScoringError(
            f"{name}={args[name]!r} cannot be used: expected {expected} from {least:g} to {most:,.0f}."
        )
    return value
