from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from analysis.data import read
from analysis.data.filters import ReportOptions
from analysis.report.services.make import build_source
from benchmarks.analysis.crowd import make_crowd
from benchmarks.analysis.scratch import published_study, scratch_database
from benchmarks.cost import Stopwatch, highest_mb
from experiment.models import Study
from lib.commands import ReportingCommand, add_json_argument, table_lines

PUBLISHED_TARGET_S, CROWD_TARGET_S, CROWD_TARGET_MB = 3.0, 60.0, 4096.0


@dataclass(frozen=True)
class Measured:
    """What a report of one study cost; `chapters` are CPU seconds by title, `peak_mb` the process's highest so far."""

    name: str
    n_trials: int
    n_items: int
    n_models: int
    cpu_s: float
    wall_s: float
    peak_mb: float
    chapters: dict[str, float]


class Command(ReportingCommand):
    help = (
        "Measure what a report's numbers cost, from the database, beyond imports: on a copy of the published results, and "
        "on simulated studies of growing size. It works in a temporary SQLite database; the site's is not touched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--published",
            type=Path,
            metavar="DIR",
            help="a copy of the published results' repository",
        )
        parser.add_argument(
            "--trials",
            type=int,
            nargs="*",
            default=[10_000, 100_000, 1_000_000],
            metavar="N",
            help="sizes of the simulated studies (default: 10000 100000 1000000)",
        )
        parser.add_argument("--items", type=int, default=1_000, metavar="N")
        parser.add_argument("--models", type=int, default=30, metavar="N")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        measured = []
        if options["published"] is not None:
            with published_study(options["published"]) as study:
                chosen = ReportOptions(source="human")
                measured.append(measure(study, chosen, "published, human-created"))
        for n in options["trials"]:
            with scratch_database():
                self.stderr.write(f"simulating {n:,} trials")
                study = make_crowd(n, options["items"], options["models"])
                chosen = ReportOptions(source="human", resamples=0)
                measured.append(measure(study, chosen, f"{n:,} simulated trials"))
        rows = [asdict(one) for one in measured]
        self.report(options, {"rows": rows}, _lines(measured))


def measure(study: Study, options: ReportOptions, name: str) -> Measured:
    """Read the data and build every chapter of the report."""
    watch = Stopwatch()
    data = read.read(study, options)["human"]
    laps = {"reading": watch.lap()}
    # A chapter's time is from its announcement to the next one's
    announced: list[str] = []

    def announce(_source: str, chapter: str) -> None:
        if announced:
            laps[announced[-1]] = watch.lap()
        announced.append(chapter)

    build_source(data, announce)
    laps[announced[-1]] = watch.lap()
    return Measured(
        name=name,
        n_trials=len(data.trials),
        n_items=data.n_items,
        n_models=len(data.set_models),
        cpu_s=sum(lap.cpu_s for lap in laps.values()),
        wall_s=sum(lap.wall_s for lap in laps.values()),
        peak_mb=highest_mb(),
        chapters={chapter: lap.cpu_s for chapter, lap in laps.items()},
    )


def _lines(measured: list[Measured]) -> list[str]:
    rows = [
        {
            "study": one.name,
            "CPU s": f"{one.cpu_s:.2f}",
            "wall s": f"{one.wall_s:.2f}",
            "µs CPU a trial": f"{1e6 * one.cpu_s / max(one.n_trials, 1):.1f}",
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
        f"Aims: {PUBLISHED_TARGET_S:g} CPU s on the published data; {CROWD_TARGET_S:g} s and {CROWD_TARGET_MB:g} MB on a "
        "million trials, without the bootstrap."
    )
    return lines
