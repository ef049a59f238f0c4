import sys
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
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Write a field's test cases: as CSV or JSONL, which import_items reads back unchanged; in the columns of the published "
        "BrainBench files; or as a folder that Hugging Face's datasets load."
    )

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
        wanted = Wanted(
            find_field(options["field"]),
            options["format"],
            options["status"],
            options["source"],
            options["license"],
            options["language"],
        )
        try:
            if options["output"] == "-":
                self._to_standard_output(wanted, options)
                return
            n = write(wanted, _place(wanted, Path(options["output"])))
        except (NotInThisFormError, NothingToExportError) as error:
            raise CommandError(f"Nothing was written. {error}") from error
        data = {"items": n, "file": options["output"], "format": wanted.form}
        self.report(options, data, [f"{n} test cases written to {options['output']}."])

    def _to_standard_output(self, wanted: Wanted, options: dict[str, Any]) -> None:
        if options["json"] or wanted.form == HUGGING_FACE:
            raise CommandError("Name a file or folder. Standard output can contain only one file.")
        items = wanted.items
        stream: Any = getattr(sys.stdout, "buffer", sys.stdout)
        for content in lines(wanted, items):
            stream.write(content)
        self.stderr.write(f"{len(items)} test cases written to standard output.")


def _place(wanted: Wanted, path: Path) -> Path:
    if wanted.form == HUGGING_FACE:
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise CommandError(f"{path} already exists. Name a new or empty folder.")
    elif path.is_dir() or (path.exists() and not path.is_file()):
        raise CommandError(f"{path} exists and is not a regular file. Name another file.")
    return path
