from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_field
from experiment.models import Item
from experiment.services.item_files import (
    FORMATS,
    HUGGING_FACE,
    STATUSES,
    NothingToExportError,
    NotInThisFormError,
    Wanted,
    lines,
    write,
)
from lib.commands import ReportingCommand, add_json_argument, binary_output, output_file


class Command(ReportingCommand):
    help = (
        "Write a field's test cases: as CSV, JSONL or a spreadsheet (.xlsx), which import_items reads back unchanged; in the columns of the published "
        "BrainBench files; or as a folder that Hugging Face's datasets load."
    )
    prints = {"items": int, "file": str, "format": str}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--field", required=True, metavar="SLUG", help="field of research")
        parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
        parser.add_argument(
            "--status",
            choices=STATUSES,
            default=Item.Status.ACCEPTED.value,
            help="state of the test cases, of which the newest version is written (default: accepted)",
        )
        parser.add_argument("--source", choices=Item.Source.values, default="")
        parser.add_argument(
            "--license",
            default="unknown",
            help="license of a Hugging Face folder, such as cc-by-4.0",
        )
        parser.add_argument(
            "--language", default="en", help="language of a Hugging Face folder's texts"
        )
        parser.add_argument(
            "--output",
            required=True,
            metavar="PATH",
            help="output file, or - for standard output; for hf a folder",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        to = options["output"]
        wanted = Wanted(
            find_field(options["field"]),
            options["format"],
            options["status"],
            options["source"],
            options["license"],
            options["language"],
        )
        is_folder = wanted.form == HUGGING_FACE
        if to == "-" and (options["json"] or is_folder):
            raise CommandError("Name a file or folder. Standard output can contain only one file.")
        try:
            if to == "-":
                items = wanted.items
                for content in lines(wanted, items):
                    binary_output().write(content)
                self.stderr.write(f"{len(items)} test cases written to standard output.")
                return
            path = Path(to) if is_folder else output_file(to)
            if is_folder and path.exists() and not (path.is_dir() and not any(path.iterdir())):
                raise CommandError(f"{path} already exists. Name a new or empty folder.")
            n = write(wanted, path)
        except (NotInThisFormError, NothingToExportError) as error:
            raise CommandError(f"Nothing was written. {error}") from error
        data = {"items": n, "file": to, "format": wanted.form}
        self.report(options, data, [f"{n} test cases written to {to}."])
