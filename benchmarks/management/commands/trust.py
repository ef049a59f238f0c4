import random
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from benchmarks.trust.check import Check, Database, Part, Scale
from benchmarks.trust.checks import CHECKS
from benchmarks.trust.record import Stamp, as_row, keep
from benchmarks.trust.running import Result, run_checks
from benchmarks.trust.world import World
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

DATABASES = {"sqlite": Database.SQLITE, "postgresql": Database.POSTGRESQL}


class Command(ReportingCommand):
    help = (
        "Strike a site of its own in every way of docs/trust.md while people take part, and compare what they were told with what "
        "is stored. Servers and databases are the command's own and are removed. Linux only. Fails where anything was lost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        names = [check.name for check in CHECKS]
        parser.add_argument(
            "--only",
            choices=names,
            action="append",
            metavar="CHECK",
            help="this check (repeatable): " + ", ".join(names),
        )
        parser.add_argument(
            "--part",
            choices=[part.value for part in Part],
            action="append",
            help="the checks of this section of the page (repeatable)",
        )
        parser.add_argument(
            "--database", choices=tuple(DATABASES), action="append", help="this one alone"
        )
        parser.add_argument(
            "--short", action="store_true", help="a few cases of each, as among the tests"
        )
        parser.add_argument(
            "--seed", type=int, help="of what is drawn at random (default: another each time)"
        )
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="keep what was found in this file (docs/trust.json), and write the page beside it",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not Path("/proc/self/stat").exists():
            raise CommandError("trust finds the site's processes in /proc, which only Linux has.")
        if options["short"] and options["write"] is not None:
            raise CommandError("--write keeps full runs alone: leave --short out.")
        seed = random.randrange(10**6) if options["seed"] is None else options["seed"]
        scale = Scale(is_full=not options["short"])
        parts = options["part"] or list(Part)
        asked = [c for c in CHECKS if c.part in parts and is_asked(c, options["only"])]
        skipped = {c.name: reason for c in asked if (reason := c.missing())}
        chosen = [c for c in asked if c.name not in skipped]
        databases = [DATABASES[name] for name in options["database"] or DATABASES]
        stamp, results = Stamp.now(seed), []
        total = sum(database in check.on(scale) for check in chosen for database in databases)
        with (
            tempfile.TemporaryDirectory(prefix="trust-") as folder,
            progress("Checking", total, "checks", quiet=options["json"]) as update,
        ):
            for result in run_checks(chosen, databases, scale, seed, Path(folder)):
                results.append(result)
                update(len(results))
                if options["write"] is not None:  # at once: the whole takes long
                    keep(options["write"], as_row(result, stamp), CHECKS)
        self.report(
            options,
            {"seed": seed, "results": [as_json(r) for r in results], "skipped": skipped},
            [
                *lines(results, seed),
                *(f"Skipped: {name}: {reason}." for name, reason in skipped.items()),
            ],
        )
        failed = [f"{r.check.name} ({r.database})" for r in results if not r.outcome.is_green]
        if options["write"] is not None:  # else the page would keep the row of an earlier run
            failed += [f"{name} (skipped)" for name in skipped]
        if failed:
            raise CommandError("Not green: " + ", ".join(failed))


def is_asked(check: Check[World], only: list[str] | None) -> bool:
    """By name; without names all but the longest."""
    return check.name in only if only else not check.only_if_named


def as_json(result: Result) -> dict[str, Any]:
    return {
        "check": result.check.name,
        "database": result.database,
        **asdict(result.outcome),
        "seconds": round(result.seconds, 1),
    }


def lines(results: list[Result], seed: int) -> list[str]:
    rows = [row(result) for result in results]
    problems = [
        f"{result.check.name} ({result.database}): {problem}"
        for result in results
        for problem in result.outcome.problems
    ]
    figures = [
        f"{result.check.name} ({result.database}): {figure.name} {figure.value:,.3g} {figure.unit}"
        for result in results
        for figure in result.outcome.figures
    ]
    return [
        *table_lines(rows, left=("check", "database")),
        *figures,
        *problems,
        f"Seed {seed}.",
    ]


def row(result: Result) -> dict[str, str]:
    found = result.outcome
    counts = {
        "cases": found.cases,
        "acknowledged": found.acknowledged,
        "stored": found.stored,
        "lost": found.lost,
        "doubled": found.doubled,
        "500": found.errors,
        "503": found.unavailable,
    }
    back = "" if found.recovery_s is None else f"{found.recovery_s:.1f}"
    times = {"back after s": back, "s": f"{result.seconds:.0f}"}
    name = {"check": result.check.name, "database": result.database.value}
    return name | {key: f"{n:,}" for key, n in counts.items()} | times
