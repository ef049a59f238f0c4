import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from benchmarks.machine import machine
from benchmarks.web.measuring import Measured
from benchmarks.web.running import Options, Results, count_journeys, run_parts
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

PARTS = ("journeys", "load", "starts", "sqlite")
NAMES = {
    "script": "here, by the page's script",
    "plain": "here, without JavaScript",
    "otree": "oTree 6, requests of the pages",
    "otree_sockets": "oTree 6, the pages' WebSockets too",
}
RATIOS = {
    "otree": "script / oTree",
    "otree_plain": "without JavaScript / oTree",
    "otree_sockets": "script / oTree with WebSockets",
}


class Command(ReportingCommand):
    help = (
        "Measure what a participant's journey costs all server processes, beside an equivalent oTree 6 app on the same PostgreSQL "
        "server, and how the site bears many people at once. Servers and databases are the benchmark's own and are removed; the "
        "site's are not touched. oTree is installed once into VAR_DIR. Linux only."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--only", choices=PARTS, action="append", help="this part (repeatable)")
        parser.add_argument(
            "--journeys", type=int, default=16, metavar="N", help="in each block (default 16)"
        )
        parser.add_argument("--blocks", type=int, default=3, help="of each way (default 3)")
        parser.add_argument(
            "--participants", type=int, default=300, metavar="N", help="at once (default 300)"
        )
        parser.add_argument(
            "--think", type=float, default=4.0, metavar="S", help="seconds a page (default 4)"
        )
        parser.add_argument(
            "--starts", type=int, default=64, metavar="N", help="at the same moment (default 64)"
        )
        parser.add_argument(
            "--sqlite", type=int, default=100, metavar="N", help="at once on SQLite (default 100)"
        )
        parser.add_argument("--no-otree", action="store_true", help="without oTree, so no ratio")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not Path("/proc/self/stat").exists():
            raise CommandError("bench_web reads CPU time from /proc, which only Linux has.")
        asked = Options(
            parts=tuple(options["only"] or PARTS),
            journeys=options["journeys"],
            blocks=options["blocks"],
            participants=options["participants"],
            think_s=options["think"],
            starts=options["starts"],
            sqlite=options["sqlite"],
            with_otree=not options["no_otree"],
        )
        sizes = (asked.journeys, asked.blocks, asked.participants, asked.starts, asked.sqlite)
        if min(sizes) < 1 or asked.think_s < 0:
            raise CommandError("Numbers of people and blocks begin at 1, and --think at 0.")
        results = self._run(asked, quiet=options["json"])
        self.report(options, as_json(results), lines(results))

    def _run(self, asked: Options, *, quiet: bool) -> Results:
        n_done = 0
        total = count_journeys(asked)
        with (
            tempfile.TemporaryDirectory(prefix="bench-web-") as folder,
            progress("Taking part", total, "journeys", quiet=quiet) as update,
        ):

            def ended() -> None:
                nonlocal n_done
                n_done += 1
                update(n_done)

            try:
                return run_parts(asked, Path(folder), settings.VAR_DIR, ended)
            except (RuntimeError, CalledProcessError) as error:
                raise CommandError(str(error)) from error


def as_json(results: Results) -> dict[str, Any]:
    """Ratios first, then the people of `load`; each part's own figures below its name."""
    found: dict[str, Any] = {
        "cpu_ratio": {name: round(_ratio(results, name), 3) for name in results.ratios},
        "cpu_ratio_by_block": {n: [round(r, 3) for r in b] for n, b in results.ratios.items()},
    }
    if results.load:
        found |= {"p95_ms": round(results.load.p95_ms, 1), "dropped": results.load.dropped}
    if results.journeys:
        found["journeys"] = {name: part.as_json() for name, part in results.journeys.items()}
    for name in ("load", "starts", "sqlite"):
        part = getattr(results, name)
        if part:
            found[name] = part.as_json()
    if results.sqlite:
        found["sqlite"]["locked"] = results.locked
    return found | {"machine": machine(), "measured_at": timezone.now()}


def _ratio(results: Results, name: str) -> float:
    ours = results.journeys["plain" if name == "otree_plain" else "script"]
    theirs = results.journeys["otree_sockets" if name == "otree_sockets" else "otree"]
    return ours.cpu_ms_per_journey / theirs.cpu_ms_per_journey


def lines(results: Results) -> Iterator[str]:
    for name, blocks in results.ratios.items():
        spread = f"{min(blocks):.2f} to {max(blocks):.2f} in {len(blocks)} blocks"
        yield f"CPU per journey, {RATIOS[name]}: {_ratio(results, name):.2f} ({spread})"
    rows = [_row(NAMES[name], part) for name, part in results.journeys.items()]
    named = (
        ("PostgreSQL, people at once", results.load),
        ("PostgreSQL, starts at once", results.starts),
        ("SQLite, people at once", results.sqlite),
    )
    rows += [_row(name, part) for name, part in named if part]
    yield from table_lines(rows, left=["what"])
    if results.sqlite:
        yield f"SQLite: “database is locked” {results.locked} times"
    yield f"Times are of requests; CPU is of all server processes, the database's too. {machine()}"


def _row(name: str, part: Measured) -> dict[str, str]:
    return {
        "what": name,
        "journeys": str(part.journeys),
        "failed": str(part.failed),
        "requests each": f"{part.requests_per_journey:.1f}",
        "CPU ms each": f"{part.cpu_ms_per_journey:.0f}",
        "p50 ms": f"{part.p50_ms:.0f}",
        "p95 ms": f"{part.p95_ms:.0f}",
        "page p95 ms": f"{part.page_p95_ms:.0f}",
        "dropped": str(part.dropped),
        "errors": str(part.errors),
    }
