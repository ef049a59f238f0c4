from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand
from scoring.domain.choosing.showing import LAYOUTS
from scoring.lm_eval.choice_tasks import Told, write_inspect_task
from scoring.management.exporting import (
    add_study_arguments,
    cases_of,
    examples_among,
    study_named,
    task_name,
)
from scoring.services.choosing.prompts import PROMPTS


class Command(ReportingCommand):
    help = "Write a study's test cases as a task for Inspect, in which a model chooses in words."
    prints = {
        "folder": str,
        "task": str,
        "prompt": str,
        "layout": str,
        "items": int,
        "documents": int,
        "examples": int,
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        add_study_arguments(parser)
        parser.add_argument("--prompt", choices=list(PROMPTS), default="default")
        parser.add_argument("--layout", choices=LAYOUTS, default=LAYOUTS[0])
        parser.add_argument(
            "--examples",
            type=int,
            default=0,
            metavar="N",
            help="first show N practice items with their answers",
        )
        parser.add_argument(
            "--task", default="brainbench_choice", help="its name (default: brainbench_choice)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder, name = options["folder"], task_name(options["task"])
        study = study_named(options["study"])
        items = cases_of(study, options["source"])
        examples = examples_among(study, options["examples"])
        told = Told(study.field, options["prompt"], options["layout"], examples)
        try:
            written = write_inspect_task(items, folder, name, told)
        except OSError as error:
            raise CommandError(f"{folder} was not written: {error.strerror or error}.") from error
        lines = (
            f"{written['items']} test cases written to {folder} as task {name}. To ask a model about them:",
            f"cd {folder}; inspect eval {name}.py --model openai/MODEL --temperature 0",
            "import_choices reads the log.",
        )
        self.report(options, written, lines)
