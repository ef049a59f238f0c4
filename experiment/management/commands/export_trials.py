import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment import exporting
from experiment.kinds import default_kind, kind_note
from experiment.management.output import ReportingCommand, add_json_argument
from experiment.models import Participant, Study


class Command(ReportingCommand):
    help = "Write a study's judged trials as CSV, one tidy row each; docs/codebook.md explains the columns."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--set",
            required=True,
            choices=exporting.SETS,
            help="all judged trials, or those of the analysis",
        )
        parser.add_argument("--format", choices=("csv",), default="csv")
        parser.add_argument("--output", required=True, metavar="FILE", help="- for standard output")
        parser.add_argument(
            "--kind", choices=Participant.Kind.values, help="of participants; default: real"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study “{options['study']}”.")
        kind = options["kind"] or default_kind(study)
        if options["output"] == "-":
            self._to_standard_output(study, kind, options)
            return
        path = Path(options["output"])
        if path.is_dir() or (path.exists() and not path.is_file()):
            raise CommandError(f"{path} is not a file that could be replaced.")
        try:
            export = exporting.export_to_file(study, kind, options["set"], path)
        except OSError as error:
            raise CommandError(f"{path} was not written: {error.strerror or error}.") from error
        data = {**asdict(export), "file": str(path)}
        self.report(options, data, [self._summary(study, export, str(path))])

    def _to_standard_output(self, study: Study, kind: str, options: dict[str, Any]) -> None:
        if options["json"]:
            raise CommandError(
                "--json and --output - would both go to standard output: name a file."
            )
        # By way of a file: whoever reads on gets everything or nothing.
        with tempfile.TemporaryFile() as file:
            export = exporting.export_trials(study, kind, options["set"], file)
            shutil.copyfileobj(file, getattr(sys.stdout, "buffer", sys.stdout))
        self.stderr.write(self._summary(study, export, "standard output"))

    def _summary(self, study: Study, export: exporting.Export, target: str) -> str:
        note = kind_note(study, export.kind)
        return (
            f"{export.rows} trials of {export.participants} {export.kind} participants "
            f"(set: {export.set}) written to {target}. {note}".rstrip()
        )
