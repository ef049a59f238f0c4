from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from experiment.management.studies import find_study
from experiment.models import Purge, Study
from experiment.services.retention import NotDueError, ask, concerned, run
from lib.commands import ReportingCommand, add_json_argument
from lib.jobs import leases


class Command(ReportingCommand):
    help = "Past the study's day, take away all that could lead from its participants' answers to them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--dry-run", action="store_true", help="only count")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            found = concerned(study)
            if not options["dry_run"]:
                self._purge(study)
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

    def _purge(self, study: Study) -> None:
        """Here; one that was killed goes on."""
        with transaction.atomic():  # no worker is quicker
            opened = study.purges.filter(status__in=Purge.OPEN_STATUSES).first()
            job = opened or ask(study, timezone.localdate())
            leases.reserve(job)
        job = run(job)
        if job.status != Purge.Status.FINISHED:
            raise CommandError(
                f"{study.slug}: {job.error or 'a worker is at it, or it was stopped'}"
            )
