from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.imports.lines import problem_lines
from experiment.imports.read.tables import Problem
from experiment.imports.report import ImportReport
from experiment.imports.store.published import Created, ImportRefusedError
from experiment.models import Item
from lib.commands import ReportingCommand, add_json_argument
from lib.confined import ConfinedError
from lib.shapes import fields_of
from scoring.imports.read.everything import MOST_PROBLEMS
from scoring.imports.reading import everything_in
from scoring.imports.report import make_full_report
from scoring.imports.store.published import import_all


class Command(ReportingCommand):
    help = (
        "Import the published BrainBench test cases, trials and language models' results from a copy of the public "
        "results repository. All or nothing; running it again changes nothing."
    )
    prints = fields_of(ImportReport) | {
        "problems": [fields_of(Problem) | {"text": str}],
        "created": fields_of(Created) | {"models": int, "runs": int, "scores": int},
        "models": [
            {
                "name": str,
                "display_name": str,
                "is_of_paper": bool,
                "n_items?": int,
                "n_correct?": int,
                "accuracy?": float,
                "sem?": float,
            }
        ],
        "runs": {str: int},
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path, help="the copy's top folder")
        parser.add_argument(
            "--texts",
            choices=(Item.Texts.AS_PUBLISHED.value, Item.Texts.REPAIRED.value),
            default=Item.Texts.REPAIRED.value,
            help="version that the study draws if the published text is damaged (default: repaired)",
        )
        parser.add_argument(
            "--study",
            metavar="SLUG",
            default="brainbench",
            help="study; created if it does not exist (default: brainbench)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        directory, slug, texts = options["directory"], options["study"], options["texts"]
        try:
            found = everything_in(directory)
        except ConfinedError as error:
            raise CommandError(str(error)) from error
        data, results = found.people, found.models
        try:
            outcome = import_all(data, results, slug, texts)
        except ImportRefusedError as refusal:
            if options["json"]:
                refused = make_full_report(data, results, slug, texts, None, refusal.problems)
                self.report(options, refused.to_json(), ())
            lines = problem_lines(
                refusal.problems, hint=f"--json names the first {MOST_PROBLEMS:,}"
            )
            raise CommandError("\n".join(lines)) from refusal
        report = make_full_report(data, results, slug, texts, outcome)
        self.report(options, report.to_json(), report.lines())
