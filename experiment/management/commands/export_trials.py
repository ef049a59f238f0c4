import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.domain.release import FORMATS, PSYCH_DS, Form
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.management.asking import add_filters, add_release, asked
from experiment.management.finding import find_study
from experiment.models import Study
from experiment.services.counts import kind_counts, kind_note, name_problem, studies_joined
from experiment.services.export.files import (
    Manifest,
    export_to_file,
    export_trials,
    manifest_path,
    record_export,
)
from experiment.services.export.trials import completed
from experiment.services.reapplying import refuse_mixed_release
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Write a study's judged trials, one tidy row each, and beside the file its manifest; docs/codebook.md explains the "
        "columns, docs/participants.md the filters."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument("--format", choices=(*FORMATS, PSYCH_DS), default="csv")
        parser.add_argument(
            "--bom", action="store_true", help="a CSV file that Excel takes for UTF-8"
        )
        parser.add_argument(
            "--zip", action="store_true", help="the file in a zip, with manifest and codebook"
        )
        add_release(parser)
        parser.add_argument("--output", required=True, metavar="FILE", help="- for standard output")
        add_filters(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            query, form = asked(options)
            query = completed(study, query)
            refuse_mixed_release(study, query, form)
        except QueryError as error:
            raise CommandError(str(error)) from error
        counts, joined = kind_counts(study), studies_joined(study, query.kind)
        if (counts or joined) and query.kind not in counts:
            hint = f" They are exported with {', '.join(joined)}." if joined else ""
            raise CommandError(f"Nothing was written. {kind_note(study, query.kind)}{hint}")
        if options["output"] == "-":
            self._to_standard_output(study, query, form, options)
            return
        path = Path(options["output"])
        if path.is_dir() or (path.exists() and not path.is_file()):
            raise CommandError(f"{path} is not a file that could be replaced.")
        if problem := name_problem(path.name, query.kind):
            raise CommandError(problem)
        try:
            written = export_to_file(study, query, path, form)
        except OSError as error:
            raise CommandError(f"{path} was not written: {error.strerror or error}.") from error
        record_export(study, written)
        data = {**written.as_dict(), "file": str(path), "manifest": str(manifest_path(path))}
        self.report(options, data, [self._summary(study, written, str(path))])

    def _to_standard_output(
        self, study: Study, query: TrialQuery, form: Form, options: dict[str, Any]
    ) -> None:
        if options["json"]:
            raise CommandError(
                "--json and --output - would both go to standard output: name a file."
            )
        # By way of a file: whoever reads on gets everything or nothing.
        with tempfile.TemporaryFile() as file:
            written = export_trials(study, query, file, form)
            record_export(study, written)
            shutil.copyfileobj(file, getattr(sys.stdout, "buffer", sys.stdout))
        self.stderr.write(self._summary(study, written, "standard output"))

    def _summary(self, study: Study, written: Manifest, target: str) -> str:
        note = kind_note(study, written.kind)
        version = written.rules_version
        rules = "" if version is None else f", rules: version {version}"
        return (
            f"{written.rows} trials of {written.participants} {written.kind} participants "
            f"(set: {written.set}{rules}) written to {target}. {note}".rstrip()
        )
