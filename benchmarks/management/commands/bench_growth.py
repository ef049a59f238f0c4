from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from benchmarks.databases import scratch_postgres, scratch_sqlite
from benchmarks.growth.contention import Contention, contend
from benchmarks.growth.measuring import Growth, as_rows, measure
from benchmarks.growth.protocol import Simulated, simulate
from benchmarks.imports import measure_import
from benchmarks.machine import machine
from benchmarks.starts import measure_command, measure_worker
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

SIZES = (100, 1_000, 10_000, 100_000)
SIMULATED_PER_S, SIMULATED_COMMIT_MS = (10, 100, 300, 1_000), (1, 2, 5)
DATABASES = {"postgresql": scratch_postgres, "sqlite": scratch_sqlite}


class Command(ReportingCommand):
    help = (
        "Measure what draws, the consent page and the lab's pages cost in studies of more and more finished participants: CPU "
        "time of the site and of its database, in scratch databases that are removed. The site's is not touched. Linux only."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--sizes",
            type=int,
            nargs="+",
            default=list(SIZES),
            metavar="N",
            help="finished participants, ascending, multiples of the first (default %(default)s)",
        )
        parser.add_argument(
            "--database",
            choices=DATABASES,
            action="append",
            help="repeatable (default postgresql)",
        )
        parser.add_argument(
            "--repeats", type=int, default=15, metavar="N", help="of each work (default 15)"
        )
        parser.add_argument(
            "--items",
            type=int,
            default=10_000,
            metavar="N",
            help="test cases whose import is measured (default 10000; 0 for none)",
        )
        parser.add_argument(
            "--contention",
            action="store_true",
            help="draws from several processes at once, and a simulation of more, instead",
        )
        parser.add_argument(
            "--processes", type=int, default=4, metavar="N", help="that draw (default 4)"
        )
        parser.add_argument(
            "--draws", type=int, default=100, metavar="N", help="of each process (default 100)"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["contention"]:
            self._contend(options)
            return
        sizes = options["sizes"]
        if sizes != sorted(set(sizes)) or sizes[0] < 1 or any(n % sizes[0] for n in sizes):
            raise CommandError("--sizes must ascend, and be multiples of the first.")
        if options["repeats"] < 3:
            raise CommandError("--repeats must be at least 3.")
        if not Path("/proc/self/stat").exists():
            raise CommandError("bench_growth reads CPU time from /proc, which only Linux has.")
        growth = {
            name: self._measure(name, sizes, options["repeats"], quiet=options["json"])
            for name in options["database"] or ["postgresql"]
        }
        singles = measure_singles(options["items"])
        self.report(options, as_json(growth) | singles, [*single_lines(singles), *lines(growth)])

    def _contend(self, options: dict[str, Any]) -> None:
        if min(options["processes"], options["draws"]) < 1:
            raise CommandError("--processes and --draws must be at least 1.")
        with scratch_postgres() as url:
            if url is None:
                raise CommandError("There is no PostgreSQL server to measure on.")
            real = contend(url, options["processes"], options["draws"])
        cases = [(per_s, ms) for per_s in SIMULATED_PER_S for ms in SIMULATED_COMMIT_MS]
        simulated = []
        with progress("simulating draws", len(cases), quiet=options["json"]) as update:
            for per_s, commit_ms in cases:
                simulated.append(simulate(per_s, commit_ms))
                update(len(simulated))
        found = {"real": asdict(real), "simulated": [asdict(one) for one in simulated]}
        self.report(options, found | {"machine": machine()}, contention_lines(real, simulated))

    def _measure(self, name: str, sizes: list[int], repeats: int, *, quiet: bool) -> Growth:
        scratch: AbstractContextManager[str | None] = DATABASES[name]()
        with scratch as url, progress(name, sizes[-1], "participants", quiet=quiet) as update:
            if url is None:
                raise CommandError("There is no PostgreSQL server to measure on.")
            return measure(url, sizes, repeats, lambda _, n: update(n))


def measure_singles(n_items: int) -> dict[str, Any]:
    """What is no matter of a study's size, in CPU-seconds."""
    found: dict[str, Any] = {
        "start_cpu_s": {"command": measure_command(), "worker": measure_worker()}
    }
    if n_items:
        found["import"] = {"items": n_items, "cpu_s": measure_import(n_items)}
    return found


def single_lines(found: dict[str, Any]) -> Iterator[str]:
    starts = found["start_cpu_s"]
    yield f"Start of a command: {starts['command']:.2f} CPU s; of a worker: {starts['worker']:.2f} CPU s."
    if done := found.get("import"):
        yield f"Import of {done['items']:,} test cases: {done['cpu_s']:.1f} CPU s, on SQLite."


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


def contention_lines(real: Contention, simulated: list[Simulated]) -> Iterator[str]:
    yield (
        f"{real.processes} processes drew {real.draws} items, {real.per_s:.0f} a second; {real.overtaken:.1%} of draws were "
        f"overtaken once; exposures differ by {real.spread} at most."
    )
    yield "Simulated, in one stratum of 100 items:"
    rows = [
        {
            "draws / s": f"{one.per_s:,.0f}",
            "commit ms": f"{one.commit_ms:.0f}",
            "overtaken": f"{one.overtaken:.1%}",
            "most - least": str(one.spread),
            "p95 ms": f"{one.p95_ms:.0f}",
        }
        for one in simulated
    ]
    yield from table_lines(rows)
    yield machine()


def lines(growth: dict[str, Growth]) -> Iterator[str]:
    yield from table_lines(list(as_rows(growth)), left=["database", "CPU ms at"])
    for found in growth.values():
        if found.bytes_per_trial:
            parts = ", ".join(f"{name} {n:.0f}" for name, n in found.bytes_per_trial.items())
            yield (
                f"Bytes per trial, of the tables of participants, trials and judgments with their indexes, as vacuumed: "
                f"{sum(found.bytes_per_trial.values()):.0f} ({parts})."
            )
    yield f"CPU is of this process and of its PostgreSQL process; medians. {machine()}"
