"""So many cases of a seed, drawn by hypothesis, and what came of them."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st

MOST_SHOWN = 20
LONGEST = 600  # characters of a finding
T = TypeVar("T")


def quietly(n: int) -> settings:
    """Hypothesis' settings for `n` examples that are tried once, and not made smaller."""
    return settings(
        max_examples=n,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def for_each(cases: st.SearchStrategy[T], n: int, seed: int, look: Callable[[T], None]) -> None:
    """Look at `n` cases; the same seed draws the same ones."""

    @with_seed(seed)
    @quietly(n)
    @given(cases)
    def run(case: T) -> None:
        look(case)

    run()


class HangError(Exception):
    """A case took longer than any should."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise HangError in the block where it takes longer; in a process's main thread."""

    def ring(signum: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Tally:
    """The outcome of a run of cases. For journeys: steps, answers that were told to be stored, requests that a fault ended."""

    cases: int = 0
    taken: int = 0
    refused: int = 0
    errors: int = 0  # answers with the status 500, and errors of no type
    unavailable: int = 0  # answers with the status 503
    problems: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        """Note what must not be; more than a few say no more."""
        if len(self.problems) < MOST_SHOWN:
            self.problems.append(what[:LONGEST])
