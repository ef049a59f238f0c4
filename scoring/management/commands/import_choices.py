from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from experiment.management.finding import find_study
from experiment.management.importing import add_sheet
from lib.commands import add_json_argument
from lib.shapes import fields_of
from scoring.management.writing import ModelCommand, content_of, import_lines, unread_lines
from scoring.services.choosing import runs
from scoring.services.choosing.imports import import_choices
from scoring.services.choosing.summary import Choices, summarise


class Command(ModelCommand):
    help = "Import the choices that a model made elsewhere between the versions of a study's test cases."
    prints = {"run": int, "is_new": bool, "model": str} | fields_of(Choices)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="a table (.xlsx, .ods, CSV, Parquet) or lines of JSON with a row or line for each answer: item, order, side, "
            "confidence, raw; an Inspect log (.eval or .json); or samples_*.jsonl of lm-evaluation-harness",
        )
        add_sheet(parser)
        parser.add_argument("--study", metavar="SLUG", required=True)
        parser.add_argument(
            "--name", metavar="MODEL", required=True, help="name of the model in tables"
        )
        parser.add_argument(
            "--prompt_file",
            type=Path,
            metavar="FILE",
            help="file with the prompt that the model was given, with {versions} in place of the versions; not needed for results of "
            "exported tasks, which contain the prompt",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        told = content_of(options["prompt_file"])
        about = {"instructions": told, "sheet": options["sheet"]}
        run, is_new = import_choices(study, options["file"], options["name"], **about)
        found = summarise(run)
        data = {"run": run.pk, "is_new": is_new, "model": run.language_model.name, **asdict(found)}
        states = ", ".join(f"{n:,} {state}" for state, n in found.states.items())
        lines = [
            *import_lines(run, is_new),
            f"Run {run.pk}, {run.language_model.name}: {found.n_items:,} test cases; answers: {states}.",
        ]
        if found.accuracy is not None:
            lines.append(
                f"Of {found.n_judged:,} test cases with an answer in both orders, {found.accuracy:.1%} are right."
            )
        lines += unread_lines(runs.unread(run))
        self.report(options, data, lines)
