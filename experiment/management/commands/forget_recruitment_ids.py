from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from experiment.services.channels import forget_ids
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Erase the recruitment ids whose day has passed, as the consent page promised. Run it every day."

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        n = forget_ids(timezone.now().date())
        self.report(options, {"participants": n}, [f"Erased the ids of {n} participants."])
