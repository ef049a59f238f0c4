import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.domain.release import DATA_SET
from experiment.domain.trial_query import QueryError
from experiment.management.asking import add_filters, add_release, asked, warn
from experiment.management.finding import find_study
from experiment.services.export.files import Manifest, export_trials, record_export
from lib.commands import ReportingCommand, add_json_argument
from lib.files import atomic_file
from lib.shapes import fields_of


class Command(ReportingCommand):
    help = (
        "Write a study's trials, participants, test cases, scores of language models and predictions of teams as "
        "linked tables, in the form of a Psych-DS data set (see docs/participants.md)."
    )
    prints = fields_of(Manifest) | {"output": str}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        parser.add_argument(
            "--output",
            required=True,
            type=Path,
            metavar="DIR|ZIP",
            help="a new folder, or NAME.zip",
        )
        add_filters(parser)
        add_release(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, place = find_study(options["study"]), options["output"]
        is_zip = place.suffix == ".zip"
        if not is_zip and place.exists():
            raise CommandError(f"{place} already exists. Name a new folder or a .zip file.")
        query, form = asked(study, options)
        form = replace(form, format=DATA_SET)
        try:
            with tempfile.TemporaryFile() as file:
                written = export_trials(study, query, file, form)
                if is_zip:
                    with atomic_file(place) as target:
                        shutil.copyfileobj(file, target)
                else:  # the folder appears whole or not at all
                    beside = place.resolve().parent
                    with tempfile.TemporaryDirectory(dir=beside, prefix=".export-") as draft:
                        zipfile.ZipFile(file).extractall(Path(draft) / "whole")
                        (Path(draft) / "whole").rename(place)
        except QueryError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{place} was not written: {error.strerror or error}.") from error
        record_export(study, written, form)
        warn(self, study, written)
        line = f"{written.rows} trials of {written.participants} {written.kind} participants, in {len(written.files)} tables, written to {place}."
        self.report(options, {**written.as_dict(), "output": str(place)}, [line])
