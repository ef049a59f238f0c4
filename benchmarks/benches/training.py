from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from benchmarks.machine import machine
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines

if TYPE_CHECKING:
    from benchmarks.training.lora_step import Steps


class Bench(ReportingCommand):
    help = (
        "Time a step of BrainGPT's adapter on random weights of Mistral-7B's shape in bfloat16, with and without gradient "
        "checkpointing, beside a large matrix product; without a GPU, on a small shape."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from benchmarks.training.lora_step import bench

        done = count(1)
        with progress("Measuring", 3, quiet=options["json"]) as show:
            found = bench(lambda: show(next(done)))
        self.report(options, {"machine": machine(), **asdict(found)}, _lines(found))


def _lines(found: "Steps") -> Iterator[str]:
    yield (
        f"{found.device} ({machine()}), {found.dtype}: {found.parameters:,} weights, of which {found.trainable_parameters:,} learn; "
        f"a row of {found.context:,} tokens; a large matrix product: {found.matrix_product_flops / 1e12:.2f} TFLOP/s"
    )
    yield from table_lines(
        {
            "gradient checkpointing": "yes" if step.gradient_checkpointing else "no",
            "step, s": f"{step.step_s:.3g}",
            "tokens/s": f"{step.tokens_per_s:,.0f}",
            "share of the product's speed": f"{step.flop_share:.0%}",
            "activations, MB": f"{step.activation_bytes / 1e6:,.0f}",
            "peak, GB": "-" if step.peak_bytes is None else f"{step.peak_bytes / 1e9:.1f}",
        }
        for step in found.steps
    )
    if found.device == "CPU":
        yield "A model of 7 billion weights on a GPU: not measured (there is none here)."
