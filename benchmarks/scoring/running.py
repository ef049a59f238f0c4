"""Times the three methods in turn on the same texts, and compares their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers import PreTrainedModel

from benchmarks.scoring import measuring, methods
from benchmarks.scoring.methods import Groups
from scoring.backends.causal_lm import layout
from scoring.backends.causal_lm.head import OwnHead
from scoring.backends.causal_lm.precision import fused_gelu
from scoring.backends.causal_lm.probe import choose
from scoring.backends.causal_lm.strategies import Strategy

CHUNK = 10  # items that each method scores before the next one's turn
HARNESS = "lm_eval-"  # before its batch size, in the names of methods
EXACT_ITEMS = 10  # whose perplexities are also computed with a float64 log-sum-exp


@dataclass(frozen=True)
class Growth:
    """The cost of so many items; `cpu_ratio_with_probe` takes the other methods at their speed with the timed items."""

    items: int
    distinct_tokens: int
    cpu_s: float
    wall_s: float
    cpu_ms_per_token: float
    cpu_ratio_with_probe: dict[str, float]


@dataclass(frozen=True)
class Flops:
    """Operations a second in the weights' matrix products, and in a large product of the same run; `share` of it."""

    achieved_per_wall_s: float
    matrix_product_per_wall_s: float
    share: float
    share_cpu: float


@dataclass(frozen=True)
class PeakMemory:
    """MiB above the weights; None where the system does not say."""

    ours: float | None
    published: float | None


@dataclass(frozen=True)
class Comparison:
    """All figures of the benchmark; `*_s` and `*_ratio*` by method, a ratio is the method's time over ours.

    probe_items: what trying the strategies out costs, in items that are scored.
    """

    items: int
    strategy: str
    refused: dict[str, str]
    head: str
    tokens: int
    distinct_tokens: int
    cpu_s: dict[str, float]
    wall_s: dict[str, float]
    cpu_ratio: dict[str, float]
    cpu_ratio_with_probe: dict[str, float]
    probe_cpu_s: float
    probe_items: float
    cpu_ratio_rounds: dict[str, list[float]]
    wall_ratio: dict[str, float]
    lm_eval_batch: int | None
    tokens_per_s: float
    max_rel_error: float
    decisions_changed: int
    max_rel_error_float64: float
    flops: Flops
    linear: list[Growth]
    peak_mb: PeakMemory | None


@dataclass(frozen=True)
class Options:
    """Options of a measurement."""

    limit: int
    batch_tokens: int
    rounds: int
    lm_eval_batches: Sequence[int]
    linear: Sequence[int]
    with_memory: bool


def run(
    model: PreTrainedModel,
    tokenizer: Any,
    all_groups: Groups,
    options: Options,
    tick: Callable[[], None],
    memory: Callable[[], tuple[PreTrainedModel, Groups]],
) -> Comparison:
    """Compare the methods on the first items, and measure growth on all."""
    groups = all_groups[: options.limit]
    probe = measuring.Clock(model.device)
    with probe.running(), fused_gelu(model):
        choice = choose(model, [list(group) for group in groups])
    tick()
    strategy = choice.strategy
    clocks, sums = _time_in_turn(model, tokenizer, groups, strategy, options, tick)
    ours = clocks["ours"]
    harness = {name: clock for name, clock in clocks.items() if name.startswith(HARNESS)}
    best = min(harness, key=lambda name: harness[name].cpu_s, default="")
    others = {"published": clocks["published"]} | ({"lm_eval": harness[best]} if best else {})
    distinct, total = _tokens(groups, strategy, options.batch_tokens)
    error, changed = _agreement(groups, sums)
    exact = _against_float64(model, strategy, groups, options)
    tick()
    flops = _flops(model, groups, strategy, options, ours)
    per_token = {name: clock.cpu_s / options.rounds / total for name, clock in others.items()}
    linear = growth(model, strategy, all_groups, options, probe.cpu_s, per_token, tick)
    if options.with_memory:
        tick()
    return Comparison(
        items=len(groups),
        strategy=strategy.name,
        refused=choice.refused,
        head=strategy.head.name,
        tokens=total,
        distinct_tokens=distinct,
        cpu_s={name: clock.cpu_s for name, clock in clocks.items()},
        wall_s={name: clock.wall_s for name, clock in clocks.items()},
        cpu_ratio={name: clock.cpu_s / ours.cpu_s for name, clock in others.items()},
        cpu_ratio_with_probe={
            name: clock.cpu_s / (ours.cpu_s + options.rounds * probe.cpu_s)
            for name, clock in others.items()
        },
        probe_cpu_s=probe.cpu_s,
        probe_items=probe.cpu_s / (ours.cpu_s / options.rounds / len(groups)),
        cpu_ratio_rounds={
            name: [a / b for a, b in zip(clock.rounds, ours.rounds, strict=True)]
            for name, clock in others.items()
        },
        wall_ratio={name: clock.wall_s / ours.wall_s for name, clock in others.items()},
        lm_eval_batch=int(best.removeprefix(HARNESS)) if best else None,
        tokens_per_s=total * options.rounds / ours.wall_s,
        max_rel_error=error,
        decisions_changed=changed,
        max_rel_error_float64=exact,
        flops=flops,
        linear=linear,
        peak_mb=_memory(*memory(), options.batch_tokens) if options.with_memory else None,
    )


def _time_in_turn(
    model: PreTrainedModel,
    tokenizer: Any,
    groups: Groups,
    strategy: Strategy,
    options: Options,
    tick: Callable[[], None],
) -> tuple[dict[str, measuring.Clock], dict[str, list[list[float]]]]:
    """Each method on each chunk of items, one after the other, in an order that turns."""
    ways = {
        "ours": methods.ours(model, strategy, options.batch_tokens),
        "published": methods.published(model),
    }
    for batch in options.lm_eval_batches:
        ways[f"{HARNESS}{batch}"] = methods.lm_eval(model, tokenizer, batch)
    clocks = {name: measuring.Clock(model.device) for name in ways}
    sums: dict[str, list[list[float]]] = {name: [] for name in ways}
    names = list(ways)
    for name in names:
        ways[name](groups[:1])  # warm
    for r in range(options.rounds):
        for start in range(0, len(groups), CHUNK):
            for name in names:
                tick()
                with clocks[name].running():
                    scored = ways[name](groups[start : start + CHUNK])
                if r == 0:
                    sums[name] += scored
            names = names[1:] + names[:1]
    return clocks, sums


def _tokens(groups: Groups, strategy: Strategy, batch_tokens: int) -> tuple[int, int]:
    """Tokens that run through the model, and tokens of all texts."""
    total = sum(len(text) for group in groups for text in group)
    return n_run(groups, strategy, batch_tokens), total


def n_weights(model: PreTrainedModel) -> int:
    """Weights that each token is multiplied with: the head's included, the embedding's look-up not."""
    return sum(
        cast(torch.Tensor, module.weight).numel()
        for module in model.modules()
        if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
    )


def n_run(groups: Groups, strategy: Strategy, batch_tokens: int) -> int:
    """Tokens that a strategy runs through the model."""
    if not strategy.shares:
        return sum(len(text) for group in groups for text in group)
    packs = strategy.plan(groups, batch_tokens)
    return sum(layout.lay_out([groups[n] for n in pack]).n_tokens for pack in packs)


def _perplexities(groups: Groups, sums: list[list[float]]) -> npt.NDArray[np.float64]:
    """(items, 2)"""
    lengths = np.array([[len(text) - 1 for text in group] for group in groups])
    return np.asarray(np.exp(-np.array(sums) / lengths))


def _agreement(groups: Groups, sums: dict[str, list[list[float]]]) -> tuple[float, int]:
    """Largest relative difference of a perplexity from the published loop's, and decisions that differ."""
    ours, theirs = (_perplexities(groups, sums[name]) for name in ("ours", "published"))
    changed = (ours[:, 0] < ours[:, 1]) != (theirs[:, 0] < theirs[:, 1])
    return float(np.max(np.abs(ours / theirs - 1))), int(changed.sum())


def _against_float64(
    model: PreTrainedModel, strategy: Strategy, groups: Groups, options: Options
) -> float:
    """Largest relative error of a perplexity against a float64 log-sum-exp over the same logits."""
    some = groups[:EXACT_ITEMS]
    exact = type(strategy)(strategy.backbone, OwnHead(strategy.backbone))
    one = _perplexities(some, methods.ours(model, strategy, options.batch_tokens)(some))
    other = _perplexities(some, methods.ours(model, exact, options.batch_tokens)(some))
    return float(np.max(np.abs(one / other - 1)))


def _flops(
    model: PreTrainedModel,
    groups: Groups,
    strategy: Strategy,
    options: Options,
    clock: measuring.Clock,
) -> Flops:
    wall, cpu = measuring.matrix_product_flops(model.device, model.dtype)
    distinct, _ = _tokens(groups, strategy, options.batch_tokens)
    flop = 2.0 * n_weights(model) * distinct * options.rounds
    return Flops(
        achieved_per_wall_s=flop / clock.wall_s,
        matrix_product_per_wall_s=wall,
        share=flop / clock.wall_s / wall,
        share_cpu=flop / max(clock.cpu_s, 1e-9) / cpu,
    )


def growth(
    model: PreTrainedModel,
    strategy: Strategy,
    groups: Groups,
    options: Options,
    probe_cpu_s: float,
    per_token: dict[str, float],
    tick: Callable[[], None],
) -> list[Growth]:
    """The cost of so many items, for each number of them that there are; the others at their CPU seconds per token."""
    rows = []
    for n in options.linear:
        if n > len(groups):
            continue
        tick()
        clock = measuring.Clock(model.device)
        with clock.running():
            methods.ours(model, strategy, options.batch_tokens)(groups[:n])
        distinct, total = _tokens(groups[:n], strategy, options.batch_tokens)
        ms = 1000 * clock.cpu_s / distinct
        ratios = {
            name: cpu_s * total / (clock.cpu_s + probe_cpu_s) for name, cpu_s in per_token.items()
        }
        rows.append(Growth(n, distinct, clock.cpu_s, clock.wall_s, ms, ratios))
    return rows


def _memory(model: PreTrainedModel, groups: Groups, batch_tokens: int) -> PeakMemory:
    """Peak above the weights of (a) and (c), on a model with a vocabulary of 128k."""
    with fused_gelu(model):
        strategy = choose(model, [list(group) for group in groups]).strategy
    ours = methods.ours(model, strategy, batch_tokens)
    published = methods.published(model)
    with torch.inference_mode():
        published([[groups[0][0][:8]]])
    return PeakMemory(
        ours=measuring.peak_mb(model.device, lambda: ours(groups)),
        published=measuring.peak_mb(model.device, lambda: published(groups)),
    )
