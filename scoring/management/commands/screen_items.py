from typing import Any

from django.core.management.base import CommandParser

from lib.commands import add_json_argument, progress, table_lines
from scoring.backends import parse_model_args
from scoring.backends.opening import check_model_args
from scoring.domain.prompts import KINDS
from scoring.management.asked_models import WORDS
from scoring.management.writing import ModelCommand, add_field_arguments, find_field
from scoring.models import ItemScreening
from scoring.services.model_reviews import screen, unscreened
from scoring.services.open_model import default_name

PROMPTS = tuple(kind for kind in KINDS if kind != "custom")


class Command(ModelCommand):
    help = (
        "Have a language model score a field's drafts and test cases in review, to show their difficulty to members "
        "who may see it."
    )
    prints = {
        "model": str,
        "screened": [
            {"item": str, "ppl_original": float, "ppl_altered": float, "difficulty": float}
        ],
    }

    def add_arguments(self, parser: CommandParser) -> None:
        add_field_arguments(parser)
        parser.add_argument("--model", choices=WORDS, required=True)
        parser.add_argument(
            "--model_args", default="", metavar="NAME=VALUE,…", help="as for the command score"
        )
        parser.add_argument("--prompt", choices=PROMPTS, default="paper")
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        kind, model_args = options["model"], parse_model_args(options["model_args"])
        check_model_args(kind, model_args)
        model, prompt = default_name(kind, model_args), options["prompt"]
        items = unscreened(find_field(options), model, prompt)[: options["limit"]]
        rows: list[ItemScreening] = []
        if items:
            with progress("screening", len(items), "texts", quiet=options["json"]) as update:
                rows = screen(items, kind, model_args, model, prompt, update)
        data = {"model": model, "screened": [_data(row) for row in rows]}
        lines = table_lines(
            (
                {k: v if isinstance(v, str) else f"{v:.2f}" for k, v in _data(row).items()}
                for row in rows
            ),
            left=("item",),
        )
        self.report(options, data, lines if rows else ["Nothing is left to screen."])


def _data(row: ItemScreening) -> dict[str, str | float]:
    return {
        "item": row.item.key,
        "ppl_original": row.ppl_original,
        "ppl_altered": row.ppl_altered,
        "difficulty": row.difficulty,
    }
