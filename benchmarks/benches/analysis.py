import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from django.core.management.base import CommandParser

from analysis.charts.save import specification, svg
from analysis.data import read
from analysis.data.filters import ReportOptions
from analysis.data.version import data_version
from analysis.report.contents import CHAPTERS
from analysis.report.report import source_to_json
from analysis.report.services.make import build
from analysis.report.services.save import draw_all
from analysis.store import csv_text
from benchmarks.analysis.crowd import make_crowd
from benchmarks.cost import Seconds, Stopwatch, forget_highest, highest_mb
from benchmarks.databases import scratch_database
from experiment.models import Study
from lib.commands import ReportingCommand, add_json_argument, table_lines

CROWD_TARGET_S, CROWD_TARGET_MB = 90.0, 1024.0


@dataclass(frozen=True)
class Measured:
    """The cost of one study's report; `chapters` are CPU seconds by title, `peak_mb` the process's highest so far."""

    name: str
    n_trials: int
    n_items: int
    n_models: int
    cpu_s: float
    wall_s: float
    peak_mb: float
    chapters: dict[str, float]


class Bench(ReportingCommand):
    help = (
        "Measure the CPU time and memory of a report on simulated studies of growing size. The measurement begins when "
        "the database is read, includes the work of the database (a temporary SQLite one), and excludes the loading of "
        "Python modules. The command does not change the site's database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--trials",
            type=int,
            nargs="+",
            default=[10_000, 100_000, 1_000_000],
            metavar="N",
            help="trials of the simulated studies (default: 10000, 100000 and 1000000)",
        )
        parser.add_argument(
            "--whole",
            action="store_true",
            help="measure the whole report of the page, without language models, with 10,000 resamples, figures and tables",
        )
        parser.add_argument(
            "--items", type=int, default=1_000, metavar="N", help="test cases (default: 1000)"
        )
        parser.add_argument(
            "--models", type=int, default=30, metavar="N", help="language models (default: 30)"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        measured = []
        is_whole = options["whole"]
        for n in options["trials"]:
            with scratch_database():
                self.stderr.write(f"simulating {n:,} trials")
                study = make_crowd(n, options["items"], 0 if is_whole else options["models"])
                forget_highest()
                chosen = ReportOptions(source="human", resamples=10_000 if is_whole else 0)
                name = f"{n:,} simulated trials{', whole report' if is_whole else ''}"
                measured.append(measure(study, chosen, name, is_whole, self.stderr.write))
        rows = [asdict(one) for one in measured]
        self.report(options, {"rows": rows}, _lines(measured))


def measure(
    study: Study,
    options: ReportOptions,
    name: str,
    is_whole: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Measured:
    """Read the data and build every chapter of the report; whole with its key, figures, tables and text."""
    watch, laps = Stopwatch(), dict[str, Seconds]()

    def lap(part: str) -> None:
        laps[part] = watch.lap()
        say(f"{part}: {laps[part].cpu_s:.1f} CPU s, {highest_mb():.0f} MB at most")

    if is_whole:
        data_version(study)
        lap("naming the data")
    data = read.read(study, options)["human"]
    lap("reading")
    # A chapter's time is from its announcement to the next one's
    announced: list[str] = []

    def announce(chapter: str) -> None:
        if announced:
            lap(announced[-1])
        announced.append(chapter)

    source, tables = build(data, CHAPTERS, announce)
    lap(announced[-1])
    if is_whole:
        for _, figure in draw_all(source, tables):
            svg(specification(figure))
        lap("figures")
        for table in tables.values():
            csv_text(table)
        json.dumps(source_to_json(source))
        lap("files")
    return Measured(
        name=name,
        n_trials=len(data.trials),
        n_items=data.n_items,
        n_models=len(data.set_models),
        cpu_s=sum(taken.cpu_s for taken in laps.values()),
        wall_s=sum(taken.wall_s for taken in laps.values()),
        peak_mb=highest_mb(),
        chapters={part: taken.cpu_s for part, taken in laps.items()},
    )


def _lines(measured: list[Measured]) -> list[str]:
    rows = [
        {
            "study": one.name,
            "CPU s": f"{one.cpu_s:.2f}",
            "wall s": f"{one.wall_s:.2f}",
            "µs CPU per trial": f"{1e6 * one.cpu_s / max(one.n_trials, 1):.1f}",
            "peak MB": f"{one.peak_mb:.0f}",
        }
        for one in measured
    ]
    lines = list(table_lines(rows, left=["study"]))
    for one in measured:
        longest = sorted(one.chapters.items(), key=lambda pair: -pair[1])[:6]
        named = ", ".join(f"{chapter} {s:.2f}" for chapter, s in longest)
        lines.append(f"{one.name}: {named} CPU s")
    lines.append(
        f"Targets for the whole report of a million trials without language models: {CROWD_TARGET_S:g} CPU s and "
        f"{CROWD_TARGET_MB:g} MB."
    )
    return lines
