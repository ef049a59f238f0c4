"""How far work is, and how long the rest takes at the rate so far."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lib.formatting import number
from lib.templatetags.numbers import duration

SHORTEST_S = 3.0  # a rate of less time says too little
ANNOUNCED_PERCENT = 25  # screen readers hear of every so many


class Awaited(Protocol):
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def is_waiting(self) -> bool: ...
    @property
    def cancel_requested(self) -> bool: ...


class Measured(Protocol):
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def started_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """percent: whole percent of the steps, None where nobody knows how many there are. Times in seconds, None where unknown."""

    percent: int | None
    elapsed_s: float | None
    left_s: float | None

    @property
    def announced(self) -> int:
        return ANNOUNCED_PERCENT * ((self.percent or 0) // ANNOUNCED_PERCENT)

    @property
    def sentence(self) -> str:
        """A sentence on what is done, the time it took, and what the rest takes at that rate; empty before it starts.

        >>> Progress(25, 10.0, 30.0).sentence, Progress(None, 10.0, None).sentence
        ('25% done, 10 s so far, about 30 s left.', '10 s so far.')
        """
        if self.elapsed_s is None:
            return ""
        parts = [] if self.percent is None else [f"{self.percent}% done"]
        parts.append(f"{duration(self.elapsed_s)} so far")
        if self.left_s is not None:
            parts.append(f"about {duration(self.left_s)} left")
        return f"{', '.join(parts)}."


def stands(job: Awaited, done: str) -> str:
    """How far an open job is; `done` is what the steps are called, and what was done with them.

    >>> from types import SimpleNamespace
    >>> stands(SimpleNamespace(done=1, total=2000, is_waiting=False, cancel_requested=False), "pages seen")
    '1 of 2,000 pages seen'
    """
    if job.cancel_requested:
        return "Stopping"
    if job.is_waiting:
        return "Waiting for the worker"
    return f"{number(job.done, 0)} of {number(job.total, 0)} {done}"


def progress(job: Measured, now: datetime) -> Progress:
    """Elapsed time · (total - done) / done is left. Of work that was stopped and resumed, the pause counts as elapsed.

    >>> from datetime import UTC
    >>> from types import SimpleNamespace
    >>> row = SimpleNamespace(done=1, total=4, started_at=datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC))
    >>> progress(row, datetime(2026, 1, 1, 12, 0, 10, tzinfo=UTC))
    Progress(percent=25, elapsed_s=10.0, left_s=30.0)
    """
    done = min(job.done, job.total)
    percent = 100 * done // job.total if job.total else None
    if job.started_at is None:
        return Progress(percent, None, None)
    elapsed_s = max(0.0, (now - job.started_at).total_seconds())
    is_measured = 0 < done < job.total and elapsed_s >= SHORTEST_S
    return Progress(
        percent, elapsed_s, elapsed_s * (job.total - done) / done if is_measured else None
    )
