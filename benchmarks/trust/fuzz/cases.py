"""Numbered cases of a seed, and what was found in them: a case that failed is made again from its two numbers."""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

MOST_SHOWN = 20
LONGEST = 600  # characters of a finding


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is tried; `of` names what is fuzzed."""

    of: str
    seed: int
    number: int

    def rng(self) -> random.Random:
        return random.Random(f"{self.of}/{self.seed}/{self.number}")

    def __str__(self) -> str:
        return f"{self.of} --seed {self.seed} --case {self.number}"


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
    """What a run of cases came to. Of journeys: steps, answers that were told to be stored, requests that a fault ended."""

    cases: int = 0
    taken: int = 0
    refused: int = 0
    errors: int = 0  # answers with the status 500, and errors of no type
    unavailable: int = 0  # answers with the status 503
    problems: list[str] = field(default_factory=list)

    def fail(self, case: Case, what: str) -> None:
        """Note what must not be; more than a few say no more."""
        if len(self.problems) < MOST_SHOWN:
            self.problems.append(f"{case}: {what[:LONGEST]}")
