import re
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.models import Item, Study
from lib.commands import ReportingCommand, add_json_argument
from scoring.domain.conditions import CONDITIONS
from scoring.lm_eval import task
from scoring.services.runs import DEFAULT_SEED
from scoring.services.texts import item_texts


class Command(ReportingCommand):
    help = "Write a study's test cases as a task folder that lm-evaluation-harness runs as it is."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument(
            "--study", metavar="SLUG", help="not needed where there is only one study"
        )
        parser.add_argument("--source", choices=Item.Source.values, help="default: both")
        parser.add_argument("--condition", choices=CONDITIONS, default="full")
        parser.add_argument(
            "--seed", type=int, default=DEFAULT_SEED, help=f"of the swaps (default: {DEFAULT_SEED})"
        )
        parser.add_argument("--prompt", choices=task.PROMPTS, default="paper")
        parser.add_argument(
            "--task",
            help="its name; default: brainbench, brainbench_isolated or brainbench_swapped",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        folder, condition = options["folder"], options["condition"]
        name = options["task"] or "brainbench" + ("" if condition == "full" else f"_{condition}")
        if not re.fullmatch(r"[\w-]+", name):
            raise CommandError("A task's name is made of letters, digits, _ and -.")
        items = self._items(self._study(options["study"]), options["source"])
        try:
            found = item_texts(items, condition, options["seed"])
            written = task.write_task(found.texts, folder, name, options["prompt"], condition)
        except OSError as error:
            raise CommandError(f"{folder} was not written: {error.strerror or error}.") from error
        lines = (
            *(f"{text.name} {text.reason}: left out." for text in found.unscorable),
            f"{written['items']} test cases written to {folder} as task {name}. To score a model on them:",
            f"lm_eval --model hf --model_args pretrained=MODEL,dtype=float32 --tasks {name} --include_path {folder}",
        )
        self.report(options, written, lines)

    def _study(self, slug: str | None) -> Study:
        if slug:
            return find_study(slug)
        found = list(Study.objects.all()[:2])
        if not found:
            raise CommandError("There is no study.")
        if len(found) > 1:
            raise CommandError("There are several studies: name one with --study.")
        return found[0]

    def _items(self, study: Study, source: str | None) -> list[Item]:
        items = study.items.filter(kind=Item.Kind.TEST)
        items = items.filter(source=source) if source else items
        # Sorted here: databases disagree on the order of texts
        found = sorted(items, key=lambda item: item.key)
        if not found:
            raise CommandError(f"Study {study.slug} has no such test case.")
        return found
