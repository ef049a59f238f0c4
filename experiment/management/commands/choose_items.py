from typing import Any

from django.core.management.base import CommandParser

from experiment.management.choosing import add_choice, choice_of, each_line, item_lines
from experiment.management.finding import find_study
from experiment.services.item_choice import choose_items, taken
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Replace the test cases of a study. If a real participant has entered, this creates a new version of the study "
        "and needs a reason."
    )
    prints = {
        "study": str,
        "version": int | None,
        "items": {str: int},
        "subfields": {str: int},
        "left_out": int,
        "waiting": int,
        "trials": {str: int},
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--reason",
            default="",
            metavar="TEXT",
            help="reason for the change, required if a real participant has entered",
        )
        add_choice(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, choice = find_study(options["study"]), choice_of(options)
        version = choose_items(study, choice, options["reason"]).version
        items = taken(study)
        data = {
            "study": study.slug,
            "version": None if version is None else version.number,
            "items": items.strata,
            "subfields": items.subfields,
            "left_out": items.n_left_out,
            "waiting": items.n_waiting,
            "trials": study.trial_counts,
        }
        made = [] if version is None else [f"This is version {version.number} of {study.slug}."]
        self.report(options, data, [*made, *item_lines(items, choice), each_line(study)])
