import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.studies import find_study
from experiment.models import Participant, Study
from experiment.services import export
from experiment.services.counts import kind_counts
from experiment.services.participant_kinds import (
    default_kind,
    kind_note,
    name_problem,
    studies_joined,
)
from experiment.services.study_versions import UnknownVersionError
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Write a study's judged trials as CSV, one tidy row each; docs/codebook.md explains the columns."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--set",
            required=True,
            choices=export.SETS,
            help="all judged trials, or those of the analysis",
        )
        parser.add_argument("--format", choices=("csv",), default="csv")
        parser.add_argument("--output", required=True, metavar="FILE", help="- for standard output")
        parser.add_argument(
            "--kind",
            choices=Participant.Kind.values,
            help="of participants, and no others (default: real; imported where published people are all that is not simulated)",
        )
        parser.add_argument(
            "--rules",
            type=int,
            metavar="N",
            help="decide what is included by version N of the study's rules (default: the newest)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        kind = options["kind"] or default_kind(study)
        counts, joined = kind_counts(study), studies_joined(study, kind)
        if (counts or joined) and kind not in counts:
            hint = f" They are exported with {', '.join(joined)}." if joined else ""
            raise CommandError(f"Nothing was written. {kind_note(study, kind)}{hint}")
        if options["output"] == "-":
            self._to_standard_output(study, kind, options)
            return
        path = Path(options["output"])
        if path.is_dir() or (path.exists() and not path.is_file()):
            raise CommandError(f"{path} is not a file that could be replaced.")
        if problem := name_problem(path.name, kind):
            raise CommandError(problem)
        try:
            written = export.export_to_file(study, kind, options["set"], path, options["rules"])
        except UnknownVersionError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{path} was not written: {error.strerror or error}.") from error
        data = {**asdict(written), "file": str(path)}
        self.report(options, data, [self._summary(study, written, str(path))])

    def _to_standard_output(self, study: Study, kind: str, options: dict[str, Any]) -> None:
        if options["json"]:
            raise CommandError(
                "--json and --output - would both go to standard output: name a file."
            )
        # By way of a file: whoever reads on gets everything or nothing.
        with tempfile.TemporaryFile() as file:
            try:
                written = export.export_trials(
                    study, kind, options["set"], file, rules=options["rules"]
                )
            except UnknownVersionError as error:
                raise CommandError(str(error)) from error
            shutil.copyfileobj(file, getattr(sys.stdout, "buffer", sys.stdout))
        self.stderr.write(self._summary(study, written, "standard output"))

    def _summary(self, study: Study, written: export.Export, target: str) -> str:
        note = kind_note(study, written.kind)
        version = written.rules_version
        rules = "" if version is None else f", rules: version {version}"
        return (
            f"{written.rows} trials of {written.participants} {written.kind} participants "
            f"(set: {written.set}{rules}) written to {target}. {note}".rstrip()
        )
