"""The outcome of a fault of docs/trust.md, what belongs to it, and the type of a line in faults.py."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

RECOVERS_WITHIN_S = 30.0


class Part(StrEnum):
    REQUESTS = "requests"
    PROCESSES = "processes"
    SURROUNDINGS = "surroundings"  # disk, clock, storage, Redis, scoring servers
    FUZZ = "fuzz"
    BACKUP = "backup"
    LOAD = "load"
    GROWTH = "growth"


class Database(StrEnum):
    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is tried: in full by `make trust`, in short by `make sweep`."""

    is_full: bool

    def of(self, short: int, full: int) -> int:
        return full if self.is_full else short


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number that has a limit of its own, or none."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    of: str = ""  # what it belongs to, where several figures are one row

    @property
    def is_green(self) -> bool:
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of one fault on one database. An answer is acknowledged once the participant's browser was told that it is kept."""

    cases: int  # how often the fault struck, or what was sent
    acknowledged: int = 0
    stored: int = 0
    lost: int = 0  # acknowledged, and not stored as sent
    doubled: int = 0
    errors: int = 0  # answers with the status 500
    unavailable: int = 0  # answers with the status 503, asked again
    recovery_s: float | None = None  # from the fault's end to the next acknowledged answer
    figures: tuple[Figure, ...] = ()
    problems: tuple[str, ...] = ()  # what else must not be: a drift, a page out of turn

    @property
    def is_green(self) -> bool:
        counts = self.lost or self.doubled or self.errors or self.problems
        is_back = self.recovery_s is None or self.recovery_s <= RECOVERS_WITHIN_S
        return not counts and is_back and all(figure.is_green for figure in self.figures)


@dataclass(frozen=True, slots=True)
class Fault:
    """`strike` gets the world, a site on a database of its own, and says what it found; it raises for what is wrong with itself."""

    name: str  # as --only takes it
    title: str  # as the page says it
    part: Part
    strike: Callable[[Any, Scale], Outcome]
    databases: tuple[Database, ...] = tuple(Database)
    only_if_named: bool = False  # too long for every run
    missing: Callable[[], str] = lambda: ""  # what it needs and this machine has not, in words
    is_elsewhere: bool = (
        False  # strikes another database than its copy, and looks at that one itself
    )
    scores: bool = False  # what was acknowledged are texts that a job has scored, and no answers
