from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.studies import find_study
from experiment.services.reapplying import reapply_exclusions
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Decide again, by the study's present rules, who and what is excluded; imported participants stay as published."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        changed = reapply_exclusions(study)
        if changed is None:
            raise CommandError(
                f"{study.slug}: a worker is deciding again already; its Work page shows how far it is."
            )
        data = {
            "study": study.slug,
            "participants_changed": changed.participants,
            "trials_changed": changed.trials,
        }
        line = f"{study.slug}: the exclusion of {changed.participants} participants and of {changed.trials} trials changed."
        self.report(options, data, [line])
