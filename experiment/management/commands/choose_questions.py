from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.domain.questions.columns import CategoriesError, checked
from experiment.management.choosing import add_keys, drawn_line, each_line, keys_of
from experiment.management.finding import find_field, find_study
from experiment.services.item_choice import taken
from experiment.services.questions import QuestionChoice, take_questions
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Replace the questions of a study with accepted questions of a field; its test cases do not change. If a real "
        "participant has entered, this creates a new version of the study and needs a reason."
    )
    prints = {
        "study": str,
        "version": int | None,
        "items": {str: int},
        "trials": {str: int},
        "field": str,
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--field", required=True, metavar="SLUG", help="field of research")
        parser.add_argument(
            "--each", type=int, required=True, metavar="N", help="questions per participant"
        )
        parser.add_argument(
            "--reason",
            default="",
            metavar="TEXT",
            help="reason for the change, required if a real participant has entered",
        )
        group = parser.add_argument_group(
            "questions", "only questions that match all of these criteria"
        )
        group.add_argument(
            "--templates",
            nargs="+",
            default=[],
            metavar="KEY",
            help="only questions from these templates",
        )
        group.add_argument(
            "--categories",
            nargs="+",
            default=[],
            metavar="DIMENSION:CATEGORY",
            help="for each dimension named here, a question must have one of its categories listed here",
        )
        add_keys(group)
        group.add_argument(
            "--n", type=int, metavar="N", help="number of questions, drawn evenly over templates"
        )
        group.add_argument("--seed", type=int, default=1, help="seed of the draw (default: 1)")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, research_field = find_study(options["study"]), find_field(options["field"])
        for name in ("each", "n"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name} must be at least 1.")
        choice = QuestionChoice(
            options["templates"],
            _categories(options["categories"]),
            keys_of(options),
            options["n"],
            options["seed"],
        )
        before = study.field
        revision = take_questions(
            study, research_field, options["each"], options["reason"], choice=choice
        )
        items, version = taken(study), revision.version
        data = {
            "study": study.slug,
            "version": None if version is None else version.number,
            "items": items.strata,
            "trials": study.trial_counts,
            "field": study.field,
        }
        made = [] if version is None else [f"This is version {version.number} of {study.slug}."]
        told = [f"Its field is now {study.field}."] if study.field != before else []
        self.report(options, data, [*made, drawn_line(items), each_line(study), *told])


def _categories(given: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in given:
        dimension, colon, name = one.partition(":")
        if not colon:
            raise CommandError(f"--categories must be dimension:category, not “{one}”.")
        found.setdefault(dimension.strip().casefold(), []).append(name)
    try:
        return checked(found)
    except CategoriesError as error:
        raise CommandError(f"--categories: {error}.") from error
