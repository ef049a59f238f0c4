from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from experiment.management.output import ReportingCommand, add_json_argument
from experiment.models import Study
from experiment.study_setup import set_recruitment


class Command(ReportingCommand):
    help = "Say who may take part in a study: draft, pilot, open or closed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("recruitment", choices=Study.Recruitment.values)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study “{options['study']}”.")
        try:
            study = set_recruitment(study, options["recruitment"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        data = {"study": study.slug, "recruitment": study.recruitment}
        self.report(options, data, [f"Recruitment of {study.slug} is now {study.recruitment}."])
