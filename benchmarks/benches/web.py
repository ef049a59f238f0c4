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
    "script": "here, by the page's script",
    "plain": "here, without JavaScript",
    "otree": "oTree 6, requests of the pages",
}


class Bench(ReportingCommand):
    help = (
        "Measure what a participant's journey costs all server processes, beside an equivalent oTree 6 app on the same PostgreSQL "
        "server. Servers and databases are the benchmark's own and are removed; the site's are not touched. oTree is installed "
        "once into VAR_DIR. Linux only. `trust --part load` measures how the site bears many people at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--journeys", type=int, default=16, metavar="N", help="in each block (default 16)"
        )
        parser.add_argument("--blocks", type=int, default=3, help="of each way (default 3)")
        parser.add_argument("--no-otree", action="store_true", help="without oTree, so no ratio")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not Path("/proc/self/stat").exists():
            raise CommandError("CPU time is read from /proc, which only Linux has.")
        journeys, blocks = options["journeys"], options["blocks"]
        if min(journeys, blocks) < 1:
            raise CommandError("Numbers of journeys and blocks begin at 1.")
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
        yield f"CPU per journey, {ours} to {theirs}: {_ratio(ways, name):.2f} ({spread})"
    columns = {
        "journeys": "journeys",
        "failed": "failed",
        "requests each": "requests_per_journey",
        "CPU ms each": "cpu_ms_per_journey",
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
        rows.append({"what": NAMES[name], **dict.fromkeys(columns, ""), **row})
    yield from table_lines(rows, left=["what"])
    yield f"Times are of requests; CPU is of all server processes, the database's too. {machine()}"
