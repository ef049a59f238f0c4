"""What a check works on: the site on a database of its own, and people who take part in its study."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.trust.audit import compare, out_of_step
from benchmarks.trust.check import Check, Database, Scale
from benchmarks.trust.databases import Source
from benchmarks.trust.failures import failures
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.people import Ledger, taking_part
from benchmarks.trust.site import LOG, Site
from benchmarks.web.database import using
from benchmarks.web.site import ENTRY
from config.env import parse_database_url
from lib.backup.making import opened
from scripts.with_postgres import PrivateServer


@dataclass
class World:
    """`url` is the database of this check alone; `folder` is the site's VAR_DIR."""

    kind: Database
    url: str
    folder: Path
    server: PrivateServer | None  # on PostgreSQL, for checks that stop it
    seed: int

    @contextmanager
    def site(self, **changes: str) -> Iterator[Site]:
        """The site with its web processes; `changes` are more environment variables."""
        site = Site(self.url, self.folder, changes)
        try:
            site.start()
            yield site
        finally:
            site.stop()

    def people(
        self,
        n: int,
        port: int,
        *,
        think_s: float = 0.02,
        spread_s: float = 0.0,
        ledger: Ledger | None = None,
    ) -> AbstractContextManager[Ledger]:
        """`n` people on their way through the study, who come within `spread_s` seconds; see `taking_part`."""
        ledger = Ledger() if ledger is None else ledger
        return taking_part(n, port, ENTRY, ledger, think_s=think_s, spread_s=spread_s)

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
        """What is in the database beside what people were told, once all have come to their end; and the site's log.

        `explained` are patterns of the errors that the fault makes the site log with a traceback: any other one is a problem.
        """
        with using(self.url):
            found = compare(ledger, all_finished=all_finished)
        failed = tuple(failures(self.folder / LOG, explained))
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


def try_check(check: Check[World], source: Source, scale: Scale, seed: int) -> Outcome:
    """The check on a copy of the prepared database, in a folder of its own."""
    with source.copy() as url, TemporaryDirectory(prefix="trust-", dir=source.folder) as folder:
        share_static_files(source.folder, Path(folder))
        outcome = check.run(World(source.kind, url, Path(folder), source.server, seed), scale)
        return outcome if check.is_elsewhere else with_out_of_step(outcome, url)


def with_out_of_step(outcome: Outcome, url: str) -> Outcome:
    """Whatever a check looked at itself: at its end, with its site stopped, counters and the audit trail must hold."""
    with opened(parse_database_url(url)):
        problems = dict.fromkeys((*outcome.problems, *out_of_step()))
    return replace(outcome, problems=tuple(problems))


def share_static_files(prepared: Path, folder: Path) -> None:
    """Collected once, and the same for every site."""
    (folder / "static").symlink_to(prepared / "static")
