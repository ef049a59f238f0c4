from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from benchmarks.databases import scratch_postgres, scratch_sqlite
from benchmarks.growth.measuring import Growth, as_rows, measure
from benchmarks.machine import machine
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

SIZES = (100, 1_000, 10_000, 100_000)
DATABASES = {"postgresql": scratch_postgres, "sqlite": scratch_sqlite}


class Bench(ReportingCommand):
    help = (
        "Measure the CPU time of drawing a test case, the consent page and the lab's pages as the number of finished participants grows, for "
        "the site and its database. The command removes its temporary databases and does not change the site's. Linux only."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--sizes",
            type=int,
            nargs="+",
            default=list(SIZES),
            metavar="N",
            help="numbers of finished participants, ascending, each a multiple of the first (default: %(default)s)",
        )
        parser.add_argument(
            "--database",
            choices=DATABASES,
            action="append",
            help="database to measure on (repeatable; default: postgresql)",
        )
        parser.add_argument(
            "--repeats",
            type=int,
            default=15,
            metavar="N",
            help="repetitions of each measurement (default: 15)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        sizes = options["sizes"]
        if sizes != sorted(set(sizes)) or sizes[0] < 1 or any(n % sizes[0] for n in sizes):
            raise CommandError("--sizes must be ascending multiples of the first size.")
        if options["repeats"] < 3:
            raise CommandError("--repeats must be at least 3.")
        if not Path("/proc/self/stat").exists():
            raise CommandError(
                "This command reads CPU time from /proc, which exists only on Linux."
            )
        growth = {
            name: self._measure(name, sizes, options["repeats"], quiet=options["json"])
            for name in options["database"] or ["postgresql"]
        }
        self.report(options, as_json(growth), lines(growth))

    def _measure(self, name: str, sizes: list[int], repeats: int, *, quiet: bool) -> Growth:
        scratch: AbstractContextManager[str | None] = DATABASES[name]()
        with scratch as url, progress(name, sizes[-1], "participants", quiet=quiet) as update:
            if url is None:
                raise CommandError(
                    "No PostgreSQL server was found. Start one, or leave out --database postgresql."
                )
            return measure(url, sizes, repeats, lambda _, n: update(n))


def as_json(growth: dict[str, Growth]) -> dict[str, Any]:
    """The first database's figures, in full below its name, and those of the others below theirs."""
    each = {
        name: {
            "cpu_ms": found.cpu_ms,
            "ratio": {work: found.ratio(work) for work in found.cpu_ms},
            "exponent": {work: found.exponent(work) for work in found.cpu_ms},
            "bytes_per_trial": sum(found.bytes_per_trial.values()) or None,
            "bytes_per_trial_by_part": found.bytes_per_trial,
        }
        for name, found in growth.items()
    }
    first = next(iter(each.values()))
    top = {name: first[name] for name in ("cpu_ms", "bytes_per_trial")}
    return top | each | {"machine": machine(), "measured_at": timezone.now()}


def lines(growth: dict[str, Growth]) -> Iterator[str]:
    yield from table_lines(list(as_rows(growth)), left=["database", "CPU ms at"])
    for found in growth.values():
        if found.bytes_per_trial:
            parts = ", ".join(f"{name} {n:.0f}" for name, n in found.bytes_per_trial.items())
            yield (
                f"Bytes per trial, in the vacuumed tables of participants, trials and judgments with their indexes: "
                f"{sum(found.bytes_per_trial.values()):.0f} ({parts})."
            )
    yield f"CPU times are medians over this process and its PostgreSQL process. {machine()}"
