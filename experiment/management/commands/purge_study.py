from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from experiment.management.studies import find_study
from experiment.services.privacy.retention import NotDueError, planned, purge
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Past the study's day, take away all that could lead from its participants' answers to them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="only count")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            found = planned(study) if options["dry_run"] else purge(study, timezone.localdate())
        except NotDueError as error:
            until = study.retain_until or "no day"
            raise CommandError(
                f"{study.slug}: personal data are kept until {until}, which is not past."
            ) from error
        verb = "would be made" if options["dry_run"] else "were made"
        line = (
            f"{study.slug}: {found.participants} participants {verb} anonymous ({found.with_details} with details, "
            f"{found.with_comment} with a comment, {found.with_ids} with recruitment ids)."
        )
        self.report(options, asdict(found) | {"dry_run": options["dry_run"]}, [line])
