from pathlib import Path

from django.core.management.base import CommandError

from experiment.imports import report
from experiment.imports.brainbench import read_published
from experiment.imports.store import ImportRefusedError, import_published
from experiment.management.output import ReportingCommand, add_json_argument
from experiment.models import Item


class Command(ReportingCommand):
    help = (
        "Import the published BrainBench test cases and trials from a copy of the public results repository. "
        "All or nothing; running it again changes nothing."
    )

    def add_arguments(self, parser):
        parser.add_argument("directory", metavar="DIR", type=Path, help="the copy's top folder")
        parser.add_argument(
            "--texts",
            choices=(Item.Texts.AS_PUBLISHED.value, Item.Texts.REPAIRED.value),
            default=Item.Texts.REPAIRED.value,
            help="what the study draws where a published text is damaged (default: repaired)",
        )
        parser.add_argument(
            "--study",
            metavar="SLUG",
            default="brainbench",
            help="made if there is none (default: brainbench)",
        )
        add_json_argument(parser)

    def handle(self, *args, **options):
        slug, texts = options["study"], options["texts"]
        data = read_published(options["directory"])
        try:
            outcome = import_published(data, slug, texts)
        except ImportRefusedError as refusal:
            if options["json"]:
                self.report(options, report.as_json(data, slug, texts, None, refusal.problems), ())
            raise CommandError("\n".join(report.problem_lines(refusal.problems))) from refusal
        result = report.as_json(data, slug, texts, outcome)
        self.report(options, result, report.success_lines(result))
