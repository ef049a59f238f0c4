import warnings
from importlib import import_module
from typing import Any

from threadpoolctl import threadpool_limits

from lib.commands import ReportingCommand


class Bench(ReportingCommand):
    help = (
        "Measure how often the report's chapters conclude something in simulated studies in which nothing is true, and how often "
        "they find planted effects, and write the tables in docs/results.md."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            for name in ("nulls", "planted"):
                import_module(f"tests.analysis.coverage.{name}").main()
