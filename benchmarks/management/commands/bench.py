from importlib import import_module
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

NAMES = ("analysis", "export", "families", "growth", "inference", "scoring", "teams", "web")


class Command(BaseCommand):
    help = "Run one benchmark. `bench NAME --help` describes it and its options."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        benches = parser.add_subparsers(dest="bench", metavar="NAME", required=True)
        for name in NAMES:
            bench = self._bench(name)
            bench.add_arguments(benches.add_parser(name, help=bench.help, description=bench.help))

    def handle(self, *args: Any, **options: Any) -> None:
        self._bench(options.pop("bench")).handle(*args, **options)

    def _bench(self, name: str) -> BaseCommand:
        made: BaseCommand = import_module(f"benchmarks.benches.{name}").Bench()
        made.stdout, made.stderr, made.style = self.stdout, self.stderr, self.style
        return made
