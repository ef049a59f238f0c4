from typing import Any

from django.core.management.base import CommandParser

from experiment.management.finding import find_study
from experiment.models import Study
from experiment.services.study_setup import set_recruitment
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Set who may take part in a study: draft, pilot, open or closed."
    prints = {"study": str, "recruitment": str}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("recruitment", choices=Study.Recruitment.values)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        study = set_recruitment(study, options["recruitment"])
        data = {"study": study.slug, "recruitment": study.recruitment}
        self.report(options, data, [f"Recruitment of {study.slug} is now {study.recruitment}."])
