"""Models of a billion parameters and more in bfloat16, where there is a GPU."""

from collections.abc import Callable
from typing import cast

import torch
from torch import nn
from transformers import PreTrainedModel

from benchmarks.scoring import measuring, methods
from benchmarks.scoring.methods import Groups
from benchmarks.scoring.models import random_model
from benchmarks.scoring.results import Large
from scoring.backends.causal_lm import layout
from scoring.backends.causal_lm.precision import fused_gelu
from scoring.backends.causal_lm.probe import choose
from scoring.backends.causal_lm.strategies import Strategy

SHAPES = ("llama-1b", "llama-7b")


def measure(groups: Groups, batch_tokens: int, tick: Callable[[], None]) -> list[Large] | None:
    """What large models cost; None where there is no GPU."""
    if not torch.cuda.is_available():
        return None
    rows = []
    for config in SHAPES:
        tick()
        rows.append(of_shape(config, "bfloat16", torch.device("cuda"), groups, batch_tokens))
        torch.cuda.empty_cache()
    return rows


def of_shape(
    config: str, dtype: str, device: torch.device, groups: Groups, batch_tokens: int
) -> Large:
    """Items a second and share of a large matrix product's speed, the probe left out."""
    model = random_model(config, dtype, str(device))
    with fused_gelu(model):
        strategy = choose(model, [list(group) for group in groups]).strategy
    work = methods.ours(model, strategy, batch_tokens)
    work(groups[:2])  # warm
    clock = measuring.Clock(device)
    with clock.running():
        work(groups)
    wall, _ = measuring.matrix_product_flops(device, model.dtype)
    flop = 2.0 * n_weights(model) * n_run(groups, strategy, batch_tokens)
    return Large(
        config, dtype, strategy.name, len(groups) / clock.wall_s, flop / clock.wall_s / wall
    )


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
