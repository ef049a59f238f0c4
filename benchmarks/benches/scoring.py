"""The benchmark of scoring: speed, exactness, memory and growth."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, add_json_argument, progress, table_lines
from scoring.backends import parse_model_args
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from benchmarks.scoring.methods import Groups
    from benchmarks.scoring.running import Comparison

MEMORY_ITEMS = 8


class Extent(NamedTuple):
    """How much is measured unless options say otherwise."""

    limit: int
    lm_eval_batches: str
    linear: str


QUICK, FULL = Extent(20, "1", ""), Extent(40, "1,8", "50,100,200")
KNOWN = ("config", "tokenizer", "dtype", "device")


@dataclass(frozen=True)
class Settings:
    """The settings of a comparison, and what it was run on."""

    config: str
    dtype: str
    device: str
    batch_tokens: int
    threads: int


class Bench(ReportingCommand):
    help = (
        "Compare the speed of three scorers on a randomly initialised model: (a) the published loop, "
        "(b) lm-evaluation-harness, (c) this scorer. They score the same texts in turn in one process. The comparison uses "
        "CPU seconds, which depend less on other load."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--model_args",
            default="config=gpt2",
            metavar="config=PATH_OR_PRESET,...",
            help="config (gpt2, llama-1b, llama-7b or a folder), tokenizer, dtype, device",
        )
        parser.add_argument(
            "--items",
            type=Path,
            metavar="DIR",
            help="folder of the published data (default: the demo's items)",
        )
        parser.add_argument(
            "--full",
            action="store_true",
            help="40 items, two batch sizes of the harness, and growth to 200 items (half an hour of CPU time)",
        )
        parser.add_argument(
            "--limit",
            type=int,
            help=f"items to score (default: {QUICK.limit}; with --full: {FULL.limit})",
        )
        parser.add_argument("--rounds", type=int, default=1, help="repetitions (default: 1)")
        parser.add_argument(
            "--batch_tokens",
            type=int,
            default=0,
            help="tokens per batch of this scorer (default: chosen by device)",
        )
        parser.add_argument(
            "--lm_eval_batches",
            help=f"batch sizes of lm-evaluation-harness, of which the best counts; empty to leave it out (default: "
            f"{QUICK.lm_eval_batches}; with --full: {FULL.lm_eval_batches})",
        )
        parser.add_argument(
            "--linear",
            help=f"numbers of items for growth (default: none; with --full: {FULL.linear})",
        )
        parser.add_argument(
            "--no_memory", action="store_true", help="do not measure the peak memory"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            settings, result = self._run(options)
        except ScoringError as error:
            raise CommandError(error.for_terminal) from error
        except ImportError as error:
            raise CommandError(str(error)) from error
        self.report(options, asdict(settings) | asdict(result), _lines(settings, result))

    def _run(self, options: Mapping[str, Any]) -> tuple[Settings, "Comparison"]:
        import torch

        from benchmarks.scoring import models, running
        from scoring.backends.causal_lm.backend import BATCH_TOKENS
        from scoring.backends.tokenizers import load_tokenizer

        model_args = parse_model_args(options["model_args"])
        unknown = sorted(set(model_args) - set(KNOWN))
        if unknown:
            raise ScoringError(
                f"{unknown[0]} is unknown. Choose from {', '.join(KNOWN)}.", option="--model_args"
            )
        device = model_args.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
        settings = Settings(
            config=model_args.get("config", "gpt2"),
            dtype=model_args.get("dtype", "float32"),
            device=device,
            batch_tokens=options["batch_tokens"] or BATCH_TOKENS[device.partition(":")[0]],
            threads=torch.get_num_threads(),
        )
        tokenizer = load_tokenizer(model_args.get("tokenizer") or str(MODEL_FOLDER))
        groups = models.encode_pairs(tokenizer, models.read_pairs(options["items"]))
        asked = {name: options[name] for name in Extent._fields if options[name] is not None}
        extent = (FULL if options["full"] else QUICK)._replace(**asked)
        chosen = running.Options(
            extent.limit,
            settings.batch_tokens,
            options["rounds"],
            _numbers(extent.lm_eval_batches),
            _numbers(extent.linear),
            not options["no_memory"],
        )
        n_chunks = -(-min(len(groups), chosen.limit) // running.CHUNK)
        n_turns = (2 + len(chosen.lm_eval_batches)) * n_chunks
        total = 1 + n_turns * chosen.rounds + len(chosen.linear) + 2
        turns = count(1)
        with progress("Measuring", total) as show:

            def memory() -> "tuple[PreTrainedModel, Groups]":
                large = models.random_model("gpt2-128k", settings.dtype, device)
                return large, groups[:MEMORY_ITEMS]

            model = models.random_model(settings.config, settings.dtype, device)
            result = running.run(
                model, tokenizer, groups, chosen, lambda: show(next(turns)), memory
            )
        return settings, result


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise ScoringError(f"“{text}” is not a list of numbers such as 1,8.") from error


def _lines(settings: Settings, result: "Comparison") -> Iterator[str]:
    yield (
        f"{settings.config}, {settings.dtype}, {settings.device}, {settings.threads} threads; {result.items} items, "
        f"{result.tokens} tokens, {result.distinct_tokens} of them computed; strategy {result.strategy}, "
        f"{settings.batch_tokens} tokens per batch"
    )
    yield ""
    yield from table_lines(
        [
            {
                "method": name,
                "CPU s": f"{cpu_s:.2f}",
                "wall s": f"{result.wall_s[name]:.2f}",
                "CPU time relative to (c)": f"{cpu_s / result.cpu_s['ours']:.2f}",
            }
            for name, cpu_s in result.cpu_s.items()
        ],
        left=["method"],
    )
    flops = result.flops
    yield ""
    yield (
        f"largest relative difference of a perplexity: {result.max_rel_error:.1e} from (a), "
        f"{result.max_rel_error_float64:.1e} from a float64 log-sum-exp; decisions changed: {result.decisions_changed}"
    )
    yield (
        f"speed: {result.tokens_per_s:.0f} tokens/s; {flops.achieved_per_wall_s / 1e9:.0f} GFLOP/s, "
        f"{100 * flops.share:.0f}% of a large matrix product's {flops.matrix_product_per_wall_s / 1e9:.0f} "
        f"(by CPU time {100 * flops.share_cpu:.0f}%)"
    )
    yield (
        f"test of the strategy: {result.probe_cpu_s:.1f} CPU s, as much as {result.probe_items:.1f} items; "
        f"CPU time relative to (c) including it: {_ratios(result.cpu_ratio_with_probe)}"
    )
    for row in result.linear:
        yield (
            f"  {row.items:>4} items: {row.cpu_s:8.1f} CPU s, {row.cpu_ms_per_token:.2f} ms per token; "
            f"CPU time relative to (c) including the test of the strategy: {_ratios(row.cpu_ratio_with_probe)}"
        )
    if result.peak_mb is not None:
        peak = result.peak_mb
        yield (
            f"peak memory above the weights, vocabulary 128k: {_mb(peak.ours)} for (c), {_mb(peak.published)} for (a)"
        )


def _ratios(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())


def _mb(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} MB"
