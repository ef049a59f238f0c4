from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from experiment.services.withdrawal import reapply_withdrawals
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Withdraw again whoever a restored backup has brought back; `make serve` and `make demo` do so."

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        found = reapply_withdrawals()
        line = f"{found.withdrawn} of {found.tombstones} who withdrew were here again, and are withdrawn."
        self.report(
            options, asdict(found), [line] if found.withdrawn or options["verbosity"] else []
        )
