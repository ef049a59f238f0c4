from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.imports.read.brainbench import read_published
from experiment.imports.report import problem_lines
from experiment.imports.store.published import ImportRefusedError, country_code
from experiment.models import Item
from lib.commands import ReportingCommand, add_json_argument
from scoring.imports.read.published import FOLDER, read_results
from scoring.imports.report import make_full_report
from scoring.imports.store.published import import_all


class Command(ReportingCommand):
    help = (
        "Import the published BrainBench test cases, trials and language models' results from a copy of the public "
        "results repository. All or nothing; running it again changes nothing."
    )

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
        data = read_published(directory, country_code, others=[FOLDER])
        results = read_results(directory)
        try:
            outcome = import_all(data, results, slug, texts)
        except ImportRefusedError as refusal:
            if options["json"]:
                refused = make_full_report(data, results, slug, texts, None, refusal.problems)
                self.report(options, refused.to_json(), ())
            lines = problem_lines(refusal.problems, hint="--json names them all")
            raise CommandError("\n".join(lines)) from refusal
        report = make_full_report(data, results, slug, texts, outcome)
        self.report(options, report.to_json(), report.lines())
