from collections.abc import Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, add_json_argument, progress
from scoring.demo_lm import MODEL_FOLDER
from scoring.demo_lm.corpus import read_corpus, split
from scoring.domain.backend import ScoringError


class Command(ReportingCommand):
    help = (
        "Train the demonstration model from scratch on the project's own corpus, in minutes on one CPU core. The same "
        "options on the same machine give the same bytes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--output",
            type=Path,
            default=MODEL_FOLDER,
            metavar="DIR",
            help="output folder (default: that of the shipped model)",
        )
        parser.add_argument("--seed", type=int, default=None, help="default: the shipped model's")
        parser.add_argument("--steps", type=int, default=None, help="default: the shipped model's")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["steps"] is not None and options["steps"] < 1:
            raise CommandError("--steps must be at least 1.")
        try:
            result = self._train(options)
        except ScoringError as error:
            raise CommandError(str(error)) from error
        self.report(options, result, _lines(result))

    def _train(self, options: Mapping[str, Any]) -> dict[str, Any]:
        # torch takes seconds to load: only for those who train
        from scoring.demo_lm.training import Recipe, ensure_writable, save, train

        ensure_writable(options["output"])
        given = {name: options[name] for name in ("seed", "steps") if options[name] is not None}
        recipe = Recipe(**given)
        paragraphs = read_corpus()
        wall, cpu = perf_counter(), process_time()
        with progress("Training", recipe.steps, "steps") as show:
            trained = train(*split(paragraphs), recipe, show)
        seconds = {"wall_s": perf_counter() - wall, "cpu_s": process_time() - cpu}
        manifest = save(trained, recipe, paragraphs, options["output"])
        return {"output": str(options["output"]), **seconds, **manifest}


def _lines(result: Mapping[str, Any]) -> list[str]:
    corpus, losses = result["corpus"], result["losses"]
    size = sum(file["bytes"] for file in result["files"].values())
    trained = (
        f"Trained {result['parameters']:,} parameters on {corpus['sentences']} sentences in {result['wall_s']:.0f} s "
        f"({result['cpu_s']:.0f} s of CPU time); the best step is {result['best_step']} of {result['recipe']['steps']}."
    )
    return [
        trained,
        (
            f"  held-out loss {losses['held_out_nats_per_token']:.4f} nats per token, "
            f"{losses['held_out_bits_per_byte']:.4f} bits per byte"
        ),
        f"  training loss {losses['training_nats_per_token']:.4f} nats per token",
        f"  weights        {result['files']['model.safetensors']['sha256']}",
        f"  {result['output']}: {size / 1e6:.2f} MB, {result['label']}",
    ]
