from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand
from lib.shapes import Either
from scoring.domain.choosing.showing import LAYOUTS
from scoring.domain.conditions import CONDITIONS
from scoring.lm_eval import choice_tasks, task
from scoring.management.exporting import (
    add_study_arguments,
    cases_of,
    examples_among,
    study_named,
    task_name,
)
from scoring.services.runs import DEFAULT_SEED
from scoring.services.texts import item_texts

PERPLEXITY, CHOICE = "perplexity", "choice"
# Of each method, the first is the default
PROMPTS: Mapping[str, tuple[str, ...]] = {
    PERPLEXITY: task.PROMPTS,
    CHOICE: choice_tasks.SCORED_PROMPTS,
}
# Options of the other method, and their defaults
OF_PERPLEXITY = {"condition": "full", "seed": DEFAULT_SEED}
OF_CHOICE = {"layout": LAYOUTS[0], "examples": 0}


class Command(ReportingCommand):
    help = "Write a study's test cases as a task folder for lm-evaluation-harness."
    _written = {"folder": str, "task": str, "prompt": str, "items": int, "documents": int}
    prints = Either(
        perplexity=_written | {"condition": str},
        choice=_written | {"layout": str, "examples": int},
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        add_study_arguments(parser)
        parser.add_argument(
            "--method",
            choices=list(PROMPTS),
            default=PERPLEXITY,
            help="perplexity: which version is less surprising (default); choice: which letter is the more likely answer",
        )
        parser.add_argument(
            "--condition",
            choices=CONDITIONS,
            help="with --method perplexity: condition (default: full)",
        )
        parser.add_argument("--seed", type=int, help=f"seed of the swaps (default: {DEFAULT_SEED})")
        parser.add_argument(
            "--layout",
            choices=LAYOUTS,
            help=f"with --method choice: layout (default: {LAYOUTS[0]})",
        )
        parser.add_argument(
            "--examples",
            type=int,
            metavar="N",
            help="with --method choice: first show N practice items with their answers",
        )
        parser.add_argument(
            "--prompt",
            help="; ".join(f"{method}: {', '.join(names)}" for method, names in PROMPTS.items())
            + "; the first is the default",
        )
        parser.add_argument(
            "--task",
            help="name of the task (default: brainbench, brainbench_isolated, brainbench_swapped or brainbench_choice)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder, method = options["folder"], options["method"]
        settings = _settings(method, options)
        condition = settings.get("condition", CHOICE)
        default = "brainbench" if condition == "full" else f"brainbench_{condition}"
        name = task_name(options["task"] or default)
        study = study_named(options["study"])
        items = cases_of(study, options["source"])
        left_out: list[str] = []
        try:
            if method == CHOICE:
                examples = examples_among(study, settings["examples"])
                how = (study.field, settings["prompt"], settings["layout"], examples)
                written = choice_tasks.write_harness_task(
                    items, folder, name, choice_tasks.Told(*how)
                )
            else:
                found = item_texts(items, condition, settings["seed"])
                left_out = [f"{text.name} {text.reason}: left out." for text in found.unscorable]
                written = task.write_task(found.texts, folder, name, settings["prompt"], condition)
        except OSError as error:
            raise CommandError(f"{folder} was not written: {error.strerror or error}.") from error
        line = f"lm_eval --model hf --model_args pretrained=MODEL,dtype=float32 --tasks {name} --include_path {folder}"
        lines = [
            *left_out,
            f"{written['items']} test cases written to {folder} as task {name}. To score a model on them:",
            line,
        ]
        if method == CHOICE:
            lines[-1] = f"{line} --output_path OUT --log_samples"
            lines.append(
                "Add --apply_chat_template for a model that has a chat template. import_choices reads OUT's samples file."
            )
        self.report(options, written, lines)


def _settings(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Prompt and the method's own options. Raises CommandError where one belongs to the other method."""
    own, other = (OF_CHOICE, OF_PERPLEXITY) if method == CHOICE else (OF_PERPLEXITY, OF_CHOICE)
    for name in other:
        if options[name] is not None:
            raise CommandError(f"--{name} cannot be used with --method {method}.")
    prompt = options["prompt"] or PROMPTS[method][0]
    if prompt not in PROMPTS[method]:
        raise CommandError(
            f"There is no prompt “{prompt}” for --method {method}: choose one of {', '.join(PROMPTS[method])}."
        )
    given = {name: options[name] for name in own if options[name] is not None}
    return {"prompt": prompt, **own, **given}
