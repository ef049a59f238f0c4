from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_field
from experiment.models import Item, QuestionTemplate
from experiment.services.item_files import STATUSES
from experiment.services.questions import COLUMNS, FORMATS, WantedQuestions, as_toml, content
from lib.commands import ReportingCommand, add_json_argument, binary_output, output_file
from lib.files import write_file


class Command(ReportingCommand):
    help = (
        "Write a field's questions with their expert answers as CSV, JSONL, Parquet or a spreadsheet (.xlsx), in our columns or the published ones; "
        "import_questions reads them back unchanged."
    )
    prints = {"questions": int, "file": str, "format": str}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--field", required=True, metavar="SLUG", help="field of research")
        parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
        parser.add_argument(
            "--columns",
            choices=COLUMNS,
            default=COLUMNS[0],
            help="published: uuid, template_uuid, question, answer and categories",
        )
        parser.add_argument(
            "--status",
            choices=STATUSES,
            default=Item.Status.ACCEPTED.value,
            help="state of the questions, of which the newest version is written (default: accepted)",
        )
        parser.add_argument(
            "--test_share",
            type=_share,
            metavar="SHARE",
            help=(
                "add a column `split`: test for a random share (such as 0.15) of the questions of each template and category, "
                "otherwise train"
            ),
        )
        parser.add_argument(
            "--seed", type=int, default=1, metavar="N", help="seed of the draw (default: 1)"
        )
        parser.add_argument(
            "--template",
            metavar="KEY",
            help="write this template as TOML for fill_template",
        )
        parser.add_argument(
            "--output", required=True, metavar="PATH", help="output file, or - for standard output"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = WantedQuestions(
            find_field(options["field"]),
            options["format"],
            options["columns"],
            options["status"],
            options["test_share"],
            options["seed"],
        )
        to = options["output"]
        if to == "-" and options["json"]:
            raise CommandError("Name a file. Standard output can contain only one file.")
        if options["template"]:
            field, key = wanted.research_field, options["template"]
            row = QuestionTemplate.objects.filter(field=field, key=key).first()
            if row is None or not row.rules:
                raise CommandError(f"{field.name} does not have a template “{key}” with texts.")
            written, form, n = as_toml(row).encode(), "toml", 0
            what = f"The template {row.key}"
        else:
            items = wanted.items
            written, form, n = content(wanted, items), wanted.form, len(items)
            what = f"{n} questions"
        if to == "-":
            binary_output().write(written)
            self.stderr.write(f"{what} written to standard output.")
            return
        write_file(output_file(to), written)
        self.report(
            options, {"questions": n, "file": to, "format": form}, [f"{what} written to {to}."]
        )


def _share(text: str) -> float:
    try:
        if 0 < (share := float(text)) < 1:
            return share
    except ValueError:
        pass
    raise ArgumentTypeError(f"{text} is not a share between 0 and 1")
