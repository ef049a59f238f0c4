import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from benchmarks.machine import machine
from benchmarks.web.running import RATIOS, Way, compare, count_journeys, ratios
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

NAMES = {
    "script": "this site, with JavaScript",
    "plain": "this site, without JavaScript",
    "otree": "oTree 6",
}


class Bench(ReportingCommand):
    help = (
        "Measure the CPU time of all server processes for a participant's session, compared with an equivalent oTree 6 app on "
        "the same PostgreSQL server. The command starts and removes separate servers and databases, and does not change the "
        "site's. It installs oTree once into VAR_DIR. Linux only. `trust --part load` measures many simultaneous people."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--journeys",
            type=int,
            default=16,
            metavar="N",
            help="sessions in each block (default: 16)",
        )
        parser.add_argument(
            "--blocks", type=int, default=3, help="blocks of each system (default: 3)"
        )
        parser.add_argument("--no-otree", action="store_true", help="do not compare with oTree")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not Path("/proc/self/stat").exists():
            raise CommandError(
                "This command reads CPU time from /proc, which exists only on Linux."
            )
        journeys, blocks = options["journeys"], options["blocks"]
        if min(journeys, blocks) < 1:
            raise CommandError("--journeys and --blocks must be at least 1.")
        environments = None if options["no_otree"] else settings.VAR_DIR
        total, done = count_journeys(journeys, blocks, environments is not None), count(1)
        with (
            tempfile.TemporaryDirectory(prefix="bench-web-") as folder,
            progress("Taking part", total, "journeys", quiet=options["json"]) as update,
        ):
            try:
                ways = compare(
                    journeys, blocks, Path(folder), environments, lambda: update(next(done))
                )
            except (RuntimeError, CalledProcessError) as error:
                raise CommandError(str(error)) from error
        self.report(options, as_json(ways), lines(ways))


def as_json(ways: dict[str, Way]) -> dict[str, Any]:
    """Ratios first; each way's own figures below its name."""
    by_block = ratios(ways)
    return {
        "cpu_ratio": {name: round(_ratio(ways, name), 3) for name in by_block},
        "cpu_ratio_by_block": {n: [round(r, 3) for r in b] for n, b in by_block.items()},
        "journeys": {name: way.found() for name, way in ways.items()},
        "machine": machine(),
        "measured_at": timezone.now(),
    }


def _ratio(ways: dict[str, Way], name: str) -> float:
    ours, theirs = (ways[way].cpu_s / ways[way].ledger.finished for way in RATIOS[name])
    return ours / theirs


def lines(ways: dict[str, Way]) -> Iterator[str]:
    for name, blocks in ratios(ways).items():
        ours, theirs = (NAMES[way] for way in RATIOS[name])
        spread = f"{min(blocks):.2f} to {max(blocks):.2f} in {len(blocks)} blocks"
        yield f"CPU time per session, {ours} relative to {theirs}: {_ratio(ways, name):.2f} ({spread})"
    columns = {
        "journeys": "journeys",
        "failed": "failed",
        "requests per session": "requests_per_journey",
        "CPU ms per session": "cpu_ms_per_journey",
        "p50 ms": "p50_ms",
        "p95 ms": "p95_ms",
        "page p95 ms": "page_p95_ms",
        "dropped": "dropped",
        "errors": "errors",
    }
    rows = []
    for name, way in ways.items():
        found = way.found()
        row = {
            title: f"{found[key]:.4g}" for title, key in columns.items() if found[key] is not None
        }
        rows.append({"system": NAMES[name], **dict.fromkeys(columns, ""), **row})
    yield from table_lines(rows, left=["system"])
    yield f"Times are per request. CPU times include all server processes and the database. {machine()}"
