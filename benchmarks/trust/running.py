"""Runs checks one after another on each database, and keeps what they found."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.trust.check import Check, Database, Scale
from benchmarks.trust.databases import Source, prepare
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.world import World, try_check
from benchmarks.web.site import collect_static


@dataclass(frozen=True, slots=True)
class Result:
    """One check on one database."""

    check: Check[World]
    database: Database
    outcome: Outcome
    seconds: float


def run_checks(
    checks: Sequence[Check[World]],
    databases: Sequence[Database],
    scale: Scale,
    seed: int,
    folder: Path,
) -> Iterator[Result]:
    """All of them, whatever the ones before found; each as soon as it is done."""
    collect_static(folder)
    for database in databases:
        chosen = [check for check in checks if database in check.on(scale)]
        if not chosen:
            continue
        with prepare(database, folder) as source:
            for check in chosen:
                started = time.monotonic()
                outcome = _outcome(check, source, scale, seed)
                yield Result(check, database, outcome, time.monotonic() - started)


def _outcome(check: Check[World], source: Source, scale: Scale, seed: int) -> Outcome:
    try:
        return try_check(check, source, scale, seed)
    # A check that fails itself is red, and the others go on; a server that cannot be started ends scripts
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return Outcome(cases=0, problems=(f"{type(error).__name__}: {error}",))
