import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from benchmarks.answers.running import Measured, measure, prepare
from benchmarks.machine import machine
from lib.commands import ReportingCommand, add_json_argument, table_lines
from scoring.domain.backend import ScoringError


class Command(ReportingCommand):
    help = (
        "Have models answer questions and a judge grade them, against a chat server that answers at once; each process is killed "
        "with SIGKILL halfway and gone on with. Counts what is lost and what is asked twice, and measures memory. Linux; on a "
        "scratch database: the site's is not touched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--questions", type=int, default=10_000, metavar="N")
        parser.add_argument("--models", type=int, default=7, metavar="N")
        parser.add_argument("--concurrency", type=int, default=4, metavar="N")
        parser.add_argument(
            "--prepare", type=int, metavar="N", help="only make a study of N questions"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["prepare"]:
            prepare(options["prepare"])
            return
        if sys.platform != "linux":
            raise CommandError("bench_answers reads /proc, which only Linux has.")
        try:
            found = list(measure(options["questions"], options["models"], options["concurrency"]))
        except ScoringError as error:
            raise CommandError(str(error)) from error
        data = {"machine": machine(), "works": [asdict(work) for work in found]}
        self.report(options, data, _lines(found))
        if wrong := [
            work.what for work in found if work.lost or work.repeated > work.most_repeated
        ]:
            raise CommandError(f"Lost, or asked twice without need: {', '.join(wrong)}.")


def _lines(found: list[Measured]) -> Iterator[str]:
    yield machine()
    cells = (
        {
            "": work.what,
            "due": f"{work.n:,}",
            "lost": f"{work.lost:,}",
            "requests": f"{work.requests:,}",
            "repeated": f"{work.repeated} of at most {work.most_repeated}",
            "kills": str(work.kills),
            "seconds": f"{work.seconds:,.0f}",
            "MiB before the first": f"{work.first_mib:.0f}",
            "MiB at the peak": f"{work.peak_mib:.0f}",
        }
        for work in found
    )
    yield from table_lines(cells, left=("",))
