import shutil
import tempfile
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.domain.release import FORMATS, PSYCH_DS
from experiment.management.asking import add_filters, add_release, asked, warn
from experiment.management.finding import find_study
from experiment.services.export.files import (
    Manifest,
    export_to_file,
    export_trials,
    manifest_path,
    record_export,
)
from lib.commands import ReportingCommand, add_json_argument, binary_output, output_file
from lib.shapes import fields_of


class Command(ReportingCommand):
    help = (
        "Write a study's judged trials, one row per trial, and a manifest next to the file; the codebook explains the "
        "columns, docs/participants.md the filters."
    )
    prints = fields_of(Manifest) | {"file": str, "manifest": str}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--format", choices=(*FORMATS, PSYCH_DS), default="csv")
        parser.add_argument(
            "--bom", action="store_true", help="write a CSV file that Excel reads as UTF-8"
        )
        parser.add_argument(
            "--zip", action="store_true", help="write the file in a ZIP, with manifest and codebook"
        )
        add_release(parser)
        parser.add_argument(
            "--output", required=True, metavar="FILE", help="output file, or - for standard output"
        )
        add_filters(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        query, form = asked(study, options)
        if options["output"] == "-":
            if options["json"]:
                raise CommandError(
                    "--json and --output - would both use standard output. Name a file."
                )
            # By way of a file: whoever reads on gets everything or nothing
            with tempfile.TemporaryFile() as file:
                written = export_trials(study, query, file, form)
                record_export(study, written, form)
                shutil.copyfileobj(file, binary_output())
            self.stderr.write(_summary(written, "standard output"))
            warn(self, study, written)
            return
        path = output_file(options["output"])
        try:
            written = export_to_file(study, query, path, form)
        except OSError as error:
            raise CommandError(f"{path} was not written: {error.strerror or error}.") from error
        record_export(study, written, form)
        warn(self, study, written)
        data = {**written.as_dict(), "file": str(path), "manifest": str(manifest_path(path))}
        self.report(options, data, [_summary(written, str(path))])


def _summary(written: Manifest, target: str) -> str:
    version = written.rules_version
    rules = "" if version is None else f", rules: version {version}"
    return (
        f"{written.rows} trials of {written.participants} {written.kind} participants "
        f"(set: {written.set}{rules}) written to {target}."
    )
