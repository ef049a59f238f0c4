import random
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from benchmarks.trust.faults import FAULTS
from benchmarks.trust.outcome import Database, Part, Scale
from benchmarks.trust.record import Stamp, as_row, keep
from benchmarks.trust.world import Result, strike_all
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

DATABASES = {database.lower(): database for database in Database}


class Command(ReportingCommand):
    help = (
        "Cause each fault of docs/trust.md on a separate site while simulated people take part, and compare the acknowledged "
        "answers with the stored ones. The command removes its servers and databases. It fails if anything was lost. Linux only."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        names = [fault.name for fault in FAULTS]
        parser.add_argument(
            "--only",
            choices=names,
            action="append",
            metavar="FAULT",
            help="test only this fault (repeatable): " + ", ".join(names),
        )
        parser.add_argument(
            "--part",
            choices=[part.value for part in Part],
            action="append",
            help="test only faults of this kind (repeatable)",
        )
        parser.add_argument(
            "--database",
            choices=DATABASES,
            action="append",
            help="test only this database (repeatable)",
        )
        parser.add_argument(
            "--short", action="store_true", help="test only a few cases of each fault"
        )
        parser.add_argument(
            "--seed", type=int, help="seed of the random numbers (default: a new one for each run)"
        )
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="store results in this file (docs/trust.json), and write the page in the same folder",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not Path("/proc/self/stat").exists():
            raise CommandError("This command finds processes in /proc, which exists only on Linux.")
        if options["short"] and options["write"] is not None:
            raise CommandError("--write stores only full runs. Leave out --short.")
        seed = random.randrange(10**6) if options["seed"] is None else options["seed"]
        only, parts = options["only"], options["part"] or list(Part)
        asked = [
            fault
            for fault in FAULTS
            if fault.part in parts and (fault.name in only if only else not fault.only_if_named)
        ]
        skipped = {fault.name: reason for fault in asked if (reason := fault.missing())}
        chosen = [fault for fault in asked if fault.name not in skipped]
        databases = [DATABASES[name] for name in options["database"] or DATABASES]
        stamp, results = Stamp.now(seed), list[Result]()
        total = sum(database in fault.databases for fault in chosen for database in databases)
        scale = Scale(is_full=not options["short"])
        with (
            tempfile.TemporaryDirectory(prefix="trust-") as folder,
            progress("Checking", total, "faults", quiet=options["json"]) as update,
        ):
            for result in strike_all(chosen, databases, scale, seed, Path(folder)):
                results.append(result)
                update(len(results))
                if options["write"] is not None:  # at once: the whole takes long
                    keep(options["write"], as_row(result, stamp), FAULTS)
        rows = [
            {
                "check": result.fault.name,
                "database": result.database,
                **asdict(result.outcome),
                "seconds": round(result.seconds, 1),
            }
            for result in results
        ]
        self.report(
            options,
            {"seed": seed, "results": rows, "skipped": skipped},
            [
                *lines(results),
                *(f"Skipped: {name}: {reason}." for name, reason in skipped.items()),
                f"Seed {seed}.",
            ],
        )
        failed = [f"{r.fault.name} ({r.database})" for r in results if not r.outcome.is_green]
        if options["write"] is not None:  # else the page would keep the row of an earlier run
            failed += [f"{name} (skipped)" for name in skipped]
        if failed:
            raise CommandError("Not green: " + ", ".join(failed))


COUNTS = ("cases", "acknowledged", "stored", "lost", "doubled", "errors", "unavailable")


def lines(results: list[Result]) -> list[str]:
    """A table of counts; then what was measured, and what is wrong."""
    table, others = [], []
    for result in results:
        found, name = result.outcome, f"{result.fault.name} ({result.database})"
        back = "" if found.recovery_s is None else f"{found.recovery_s:.1f}"
        counts = {key: f"{getattr(found, key):,}" for key in COUNTS}
        table.append({"fault": name, **counts, "recovery s": back, "s": f"{result.seconds:.0f}"})
        others += [f"{name}: {f.name} {f.value:,.3g} {f.unit}" for f in found.figures]
        others += [f"{name}: {problem}" for problem in found.problems]
    return [*table_lines(table, left=("fault",)), *others]
