"""A check of trust: its name, where it stands in docs/trust.md, and what runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from benchmarks.trust.outcome import Outcome

W = TypeVar("W")


class Part(StrEnum):
    """The sections of docs/trust.md."""

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


# For the short form of what hardly depends on the database
SQLITE_ALONE = (Database.SQLITE,)
POSTGRESQL_ALONE = (Database.POSTGRESQL,)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is tried: in full by `make trust`, in short among the tests."""

    is_full: bool

    def of(self, short: int, full: int) -> int:
        return full if self.is_full else short


@dataclass(frozen=True, slots=True)
class Check(Generic[W]):
    """`run` gets the world, a site on a database of its own, and says what it found; it raises for what is wrong with itself."""

    name: str  # as --only takes it
    title: str  # as the table says it
    part: Part
    run: Callable[[W, Scale], Outcome]
    databases: tuple[Database, ...] = tuple(Database)
    only_if_named: bool = False  # too long for every run
    short_on: tuple[Database, ...] = tuple(Database)  # where it runs in short form too
    missing: Callable[[], str] = lambda: ""  # what it needs and this machine has not, in words
    is_elsewhere: bool = False  # the database that it strikes is not its copy: it looks at that one itself, while it is there
    scores: bool = False  # what was acknowledged are texts that a job has scored, and no answers

    def on(self, scale: Scale) -> tuple[Database, ...]:
        """The databases that it runs on at this scale."""
        found = self.databases if scale.is_full else self.short_on
        return tuple(database for database in self.databases if database in found)
