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
    prints = {
        "output": str,
        "wall_s": float,
        "cpu_s": float,
        "name": str,
        "label": str,
        "about": str,
        "licence": str,
        "made_by": str,
        "parameters": int,
        "corpus": {str: str | int},
        "recipe": {str: float},
        "best_step": int,
        "losses": {str: Any},
        "versions": {str: str},
        "processor": str,
        "files": {str: {"bytes": int, "sha256": str}},
    }

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
        # torch takes seconds to load: only for those who train
        from scoring.demo_lm.training import Recipe, ensure_writable, save, train

        output = options["output"]
        try:
            ensure_writable(output)
            given = {name: options[name] for name in ("seed", "steps") if options[name] is not None}
            recipe = Recipe(**given)
            paragraphs = read_corpus()
            wall, cpu = perf_counter(), process_time()
            with progress("Training", recipe.steps, "steps") as show:
                trained = train(*split(paragraphs), recipe, show)
            wall_s, cpu_s = perf_counter() - wall, process_time() - cpu
            manifest = save(trained, recipe, paragraphs, output)
        except ScoringError as error:
            raise CommandError(str(error)) from error
        corpus, losses, files = manifest["corpus"], manifest["losses"], manifest["files"]
        lines = [
            (
                f"Trained {manifest['parameters']:,} parameters on {corpus['sentences']} sentences in {wall_s:.0f} s "
                f"({cpu_s:.0f} s of CPU time); the best step is {manifest['best_step']} of {manifest['recipe']['steps']}."
            ),
            (
                f"  held-out loss {losses['held_out_nats_per_token']:.4f} nats per token, "
                f"{losses['held_out_bits_per_byte']:.4f} bits per byte"
            ),
            f"  training loss {losses['training_nats_per_token']:.4f} nats per token",
            f"  weights        {files['model.safetensors']['sha256']}",
            f"  {output}: {sum(file['bytes'] for file in files.values()) / 1e6:.2f} MB, {manifest['label']}",
        ]
        self.report(
            options, {"output": str(output), "wall_s": wall_s, "cpu_s": cpu_s, **manifest}, lines
        )
