from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from lib.commands import ReportingCommand, add_json_argument
from scoring.domain.backend import ScoringError
from scoring.services.made_up import Stored, make_up


class Command(ReportingCommand):
    help = (
        "Store simulated answers and grades for a demonstration study, to show what results look like. Repeating the "
        "command changes nothing."
    )
    prints = Stored

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--seed", type=int, default=1)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if not study.is_demo:
            raise CommandError("Only a demonstration study can have simulated answers.")
        try:
            found = make_up(study, seed=options["seed"])
        except ScoringError as error:
            raise CommandError(str(error)) from error
        lines = [
            (
                f"Simulated: {found.answers} answers of {found.models} models, {found.judge_grades} grades of a judge, "
                f"{found.person_grades} of people."
            )
        ]
        self.report(options, asdict(found), lines)
