"""The target of faults: the site on a copy of a prepared database, and people who take part in its study."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg.sql import SQL, Identifier

from benchmarks.databases import DURABLE, create_database, named, using
from benchmarks.trust.audit import compare, failures, out_of_step
from benchmarks.trust.outcome import Database, Fault, Figure, Outcome, Scale
from benchmarks.web.material import make_items
from benchmarks.web.people import Ledger, Person, taking_part
from benchmarks.web.site import ENTRY, Site, collect_static, make_study, serve_site
from config.env import parse_database_url
from lib.backup.making import opened
from scripts.with_postgres import PrivateServer, private_server

PREPARED = "prepared"


@dataclass(frozen=True, slots=True)
class Source:
    """The source of copies. `server` is a PostgreSQL server of our own, to be stopped and killed as a check likes."""

    kind: Database
    folder: Path
    server: PrivateServer | None
    numbers: Iterator[int]

    @contextmanager
    def copy(self) -> Iterator[str]:
        """The URL of a new copy; it is removed afterwards."""
        name = f"copy_{next(self.numbers)}"
        if self.server is None:
            path = self.folder / f"{name}.sqlite3"
            shutil.copy(self.folder / f"{PREPARED}.sqlite3", path)
            yield f"sqlite:///{path}"
            for left in self.folder.glob(f"{path.name}*"):
                left.unlink()
            return
        create = SQL("CREATE DATABASE {} TEMPLATE {}")
        self._execute(create.format(Identifier(name), Identifier(PREPARED)))
        try:
            yield named(self.server.url, name)
        finally:
            self._execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    def _execute(self, statement: object) -> None:
        assert self.server is not None
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


@contextmanager
def prepare(kind: Database, folder: Path) -> Iterator[Source]:
    """A database of this kind with all tables and the open study `bench`."""
    with ExitStack() as stack:
        if kind is Database.SQLITE:
            source = Source(kind, folder, None, count(1))
            make_study(f"sqlite:///{folder / PREPARED}.sqlite3", make_items())
        else:
            server = stack.enter_context(private_server(DURABLE))
            source = Source(kind, folder, server, count(1))
            make_study(create_database(server.url, PREPARED), make_items())
            source._execute(
                SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(PREPARED))
            )
        yield source


@dataclass
class World:
    """`url` is the database of this check alone; `folder` is the site's VAR_DIR."""

    kind: Database
    url: str
    folder: Path
    server: PrivateServer | None  # on PostgreSQL, for checks that stop it
    seed: int

    def site(self, **changes: str) -> AbstractContextManager[Site]:
        """The site with its web processes; `changes` are more environment variables."""
        return serve_site(self.url, self.folder, **changes)

    def people(
        self,
        n: int,
        port: int,
        *,
        think_s: float = 0.02,
        spread_s: float = 0.0,
        ledger: Ledger | None = None,
        person: type[Person] = Person,
    ) -> AbstractContextManager[Ledger]:
        """`n` people on their way through the study, who come within `spread_s` seconds; see `taking_part`."""
        ledger = Ledger() if ledger is None else ledger
        return taking_part(
            n, port, ENTRY, ledger, think_s=think_s, spread_s=spread_s, person=person
        )

    def settle(
        self,
        ledger: Ledger,
        cases: int,
        *,
        recovery_s: float | None = None,
        all_finished: bool = True,
        figures: tuple[Figure, ...] = (),
        problems: tuple[str, ...] = (),
        explained: tuple[str, ...] = (),
    ) -> Outcome:
        """Compares the database with what people were told, once all have come to their end; and reads the site's log.

        `explained` are patterns of the errors that the fault makes the site log with a traceback: any other one is a problem.
        """
        with using(self.url):
            found = compare(ledger, all_finished=all_finished)
        failed = tuple(failures(self.folder / "site.log", explained))
        return Outcome(
            cases=cases,
            acknowledged=len(ledger.acknowledged),
            stored=found.stored,
            lost=found.lost,
            doubled=found.doubled,
            errors=ledger.errors,
            unavailable=ledger.unavailable,
            recovery_s=recovery_s,
            figures=figures,
            problems=found.problems + problems + failed,
        )


def share_static_files(prepared: Path, folder: Path) -> None:
    """Collected once, and the same for every site."""
    (folder / "static").symlink_to(prepared / "static")


@dataclass(frozen=True, slots=True)
class Result:
    """One fault on one database."""

    fault: Fault
    database: Database
    outcome: Outcome
    seconds: float


def strike_all(
    faults: Sequence[Fault],
    databases: Sequence[Database],
    scale: Scale,
    seed: int,
    folder: Path,
) -> Iterator[Result]:
    """All of them, whatever the ones before did; each as soon as it is done."""
    collect_static(folder)
    for database in databases:
        chosen = [fault for fault in faults if database in fault.databases]
        if not chosen:
            continue
        with prepare(database, folder) as source:
            for fault in chosen:
                started = time.monotonic()
                try:
                    outcome = _strike(fault, source, scale, seed)
                # One that fails itself is red, and the others go on; a server that cannot be started ends scripts
                except (Exception, SystemExit) as error:  # noqa: BLE001
                    outcome = Outcome(0, problems=(f"{type(error).__name__}: {error}",))
                yield Result(fault, database, outcome, time.monotonic() - started)


def _strike(fault: Fault, source: Source, scale: Scale, seed: int) -> Outcome:
    """On a copy of the prepared database, in a folder of its own; at the end counters and the audit trail must hold."""
    with source.copy() as url, TemporaryDirectory(prefix="trust-", dir=source.folder) as name:
        folder = Path(name)
        share_static_files(source.folder, folder)
        outcome = fault.strike(World(source.kind, url, folder, source.server, seed), scale)
        if fault.is_elsewhere:
            return outcome
        with opened(parse_database_url(url)):
            problems = dict.fromkeys((*outcome.problems, *out_of_step()))
        return replace(outcome, problems=tuple(problems))
