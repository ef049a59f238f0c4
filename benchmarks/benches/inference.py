import warnings
from importlib import import_module
from typing import Any

from threadpoolctl import threadpool_limits

from lib.commands import ReportingCommand


class Bench(ReportingCommand):
    help = (
        "Measure how often the report's chapters conclude something in simulated studies in which nothing is true, and write "
        "the table in docs/results.md."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            import_module("tests.analysis.coverage.nulls").main()
