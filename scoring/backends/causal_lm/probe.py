"""Which forward strategy is right for an architecture: tried out, never assumed.

Sharing can be silently wrong (windows shorter than the text, ALiBi, state-space models, attention of an architecture's
own ...). So each strategy, from the fastest down, must first give what one text at a time gives: on a tiny model of the
same class and configuration (windows, layer kinds and position rule untouched, weights scaled up so that what is
wrongly seen makes a difference), with texts as long as the longest real one; then on two real items under the real model.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig, PreTrainedModel

from scoring.backends.causal_lm import layout
from scoring.backends.causal_lm.head import Backbone, ChunkedHead, OwnHead
from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.loading import quiet
from scoring.backends.causal_lm.strategies import STRATEGIES, Groups, Head, Single, Strategy
from scoring.domain.backend import LogProbs, ScoringError

PROBE_TOKENS = 8192  # masks of tokens by tokens stay under 300 MB
TINY_VOCABULARY = 257
TINY_LAYERS = 8  # enough for every pattern of layers in use to come round
TINY_HEADS, TINY_HEAD_SIZE = 4, 16
WEIGHT_SCALE = 5.0
TINY_TOLERANCE_NATS = (
    5e-4  # float32 rounding stays under 1e-4; a token wrongly seen costs 1e-2 and more
)
# On the real model, per precision: of one token's log-probability, and of a text's mean
TOLERANCES_NATS = {torch.float64: (1e-6, 1e-7), torch.float32: (5e-3, 1e-4)}
LOW_PRECISION_NATS = (2.0, 0.05)


@dataclass(frozen=True)
class Choice:
    """The strategy that was chosen, and why each faster one was not."""

    strategy: Strategy
    refused: dict[str, str]
    probed_on: str


def choose(model: PreTrainedModel, groups: Groups, forced: str = "") -> Choice:
    """Find the fastest strategy that is right for this model on texts like these.

    Raises:
        ScoringError: the model is not causal, or the strategy `forced` is not right.
    """
    backbone = Backbone(model)
    head = _choose_head(backbone, groups[0][0])
    check_causal(backbone, groups[0][0])
    names = [strategy.name for strategy in STRATEGIES]
    if forced and forced not in names:
        raise ScoringError(f"strategy={forced}: choose one of {', '.join(names)}.")
    longest = max(len(text) for group in groups for text in group)
    reason = ""
    if _depends_on_longest(model.config, longest):
        reason = "positions depend on the longest text that runs along"
    elif longest > PROBE_TOKENS:
        reason = f"texts of more than {PROBE_TOKENS} tokens are too long to try it out on"
    if reason and not forced:
        refused = {kind.name: reason for kind in STRATEGIES if kind is not Single}
        return Choice(Single(backbone, head), refused, "its configuration")
    tiny = tiny_model(model)
    refused = {}
    for kind in STRATEGIES:
        if forced and kind.name != forced:
            continue
        reason = "" if kind is Single else _why_not(kind, backbone, head, tiny, groups)
        if not reason:
            probed = "tiny model and real items" if tiny is not None else "real items"
            return Choice(kind(backbone, head), refused, probed)
        refused[kind.name] = reason
    raise ScoringError(f"strategy={forced} is not right for this model: {refused[forced]}.")


def _why_not(
    kind: type[Strategy],
    backbone: Backbone,
    head: Head,
    tiny: PreTrainedModel | None,
    groups: Groups,
) -> str:
    """Why a strategy cannot be used; empty if it can."""
    if kind.shares and tiny is None:
        return "no tiny model of this configuration could be made to try it on"
    if tiny is not None:
        small = Backbone(tiny)
        texts = _probe_groups(groups)
        gap = _largest_gap(kind(small, OwnHead(small)), Single(small, OwnHead(small)), texts)
        if isinstance(gap, str):
            return gap
        if gap[0] > TINY_TOLERANCE_NATS:
            return f"off by {gap[0]:.2g} nat on a tiny model of its kind"
    real = [groups[0], groups[-1]] if len(groups) > 1 else [groups[0]]
    gap = _largest_gap(kind(backbone, head), Single(backbone, OwnHead(backbone)), real)
    if isinstance(gap, str):
        return gap
    of_token, of_mean = TOLERANCES_NATS.get(backbone.model.dtype, LOW_PRECISION_NATS)
    if gap[0] > of_token or gap[1] > of_mean:
        return f"off by {gap[0]:.2g} nat on real items"
    return ""


def _largest_gap(
    strategy: Strategy, reference: Strategy, groups: Groups
) -> tuple[float, float] | str:
    """Largest difference of a token's log-probability and of a text's mean; or why the strategy does not run at all."""
    try:
        got = strategy.logprobs(groups)
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 (an architecture may refuse in any way it likes)
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"[
            :200
        ]
    expected = reference.logprobs(groups)
    gaps = [
        np.abs(g[1:] - e[1:]) if np.isfinite(g[1:]).all() else np.array([np.inf])
        for a, b in zip(got, expected, strict=True)
        for g, e in zip(a, b, strict=True)
    ]
    means = [
        abs(float(g[1:].mean() - e[1:].mean()))
        for a, b in zip(got, expected, strict=True)
        for g, e in zip(a, b, strict=True)
    ]
    return max(float(gap.max()) for gap in gaps if gap.size), max(means)


def _probe_groups(groups: Groups) -> list[list[Ids]]:
    """Two groups of random tokens in the shapes of the longest real group and of the first one."""
    longest = max(groups, key=lambda group: max(len(text) for text in group))
    root = layout.shared_length([text for group in groups for text in group])
    rng = np.random.default_rng(0)

    def like(group: Sequence[Ids], root_ids: Ids) -> list[Ids]:
        shared = min(layout.shared_length(group), min(len(text) for text in group) - 1)
        trunk = np.concatenate([root_ids, rng.integers(3, TINY_VOCABULARY, max(shared - root, 0))])
        return [
            np.concatenate(
                [trunk, rng.integers(3, TINY_VOCABULARY, max(len(text) - len(trunk), 1))]
            )
            for text in group
        ]

    root_ids = rng.integers(3, TINY_VOCABULARY, max(1, min(root, 64)))
    return [like(longest, root_ids), like(groups[0], root_ids)]


def tiny_model(model: PreTrainedModel) -> PreTrainedModel | None:
    """A float32 model of the same class whose configuration differs in sizes only; None if it cannot be made."""
    try:
        with torch.random.fork_rng(devices=[]), quiet():
            torch.manual_seed(0)
            tiny: PreTrainedModel = type(model)._from_config(  # type: ignore[no-untyped-call]
                tiny_config(model.config),
                dtype=torch.float32,
                attn_implementation=model.config._attn_implementation,
            )
        for parameter in tiny.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(WEIGHT_SCALE)
        tiny.eval()  # type: ignore[no-untyped-call]
        with torch.inference_mode():
            logits = tiny(input_ids=torch.arange(3, 11)[None], use_cache=False).logits
        return tiny if bool(torch.isfinite(logits).all()) else None
    except Exception:  # noqa: BLE001 (any architecture may need more than we know of)
        return None


def tiny_config(config: PreTrainedConfig) -> PreTrainedConfig:
    """A copy with small sizes; what decides who sees whom stays as it is."""
    tiny = copy.deepcopy(config)
    size = TINY_HEADS * TINY_HEAD_SIZE
    n_layers = min(int(config.num_hidden_layers), TINY_LAYERS)
    heads = int(getattr(config, "num_attention_heads", 0) or 0)
    sizes: dict[str, Any] = {
        "vocab_size": TINY_VOCABULARY,
        "hidden_size": size,
        "num_hidden_layers": n_layers,
        "num_attention_heads": TINY_HEADS,
        "head_dim": TINY_HEAD_SIZE,
        "rotary_dim": TINY_HEAD_SIZE // 2,
        "intermediate_size": int(getattr(config, "expand", 2) * size),
        "ffn_dim": 2 * size,
        "n_inner": 2 * size,
        "ffn_hidden_size": 2 * size,
        "word_embed_proj_dim": size,
        "time_step_rank": 4,
        "state_size": 8,
    }
    for name in ("num_key_value_heads", "num_kv_heads"):
        if (n := getattr(config, name, None)) is not None:
            sizes[name] = TINY_HEADS if n == heads else 1 if n == 1 else TINY_HEADS // 2
    stored = {name for name, value in config.to_dict().items() if value is not None}
    for name, value in sizes.items():
        if config.attribute_map.get(name, name) in stored:
            setattr(tiny, name, value)
    if "layer_types" in stored:
        tiny.layer_types = list(config.layer_types)[:n_layers]
    for name in {"pad_token_id", "bos_token_id", "eos_token_id"} & stored:
        setattr(tiny, name, 0)
    return tiny


def _depends_on_longest(config: PreTrainedConfig, longest: int) -> bool:
    """Do positions depend on the longest text of a batch, so that texts cannot share one? (dynamic and long RoPE)"""
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") not in ("dynamic", "longrope"):
        return False
    trained = rope.get("original_max_position_embeddings") or config.max_position_embeddings
    return longest > int(trained)


def _choose_head(backbone: Backbone, text: Ids) -> Head:
    """The chunked head if it gives what the model's own gives, else that one."""
    own = OwnHead(backbone)
    if type(backbone.head) is not torch.nn.Linear or backbone.head.weight.is_meta:
        return own
    chunked = ChunkedHead(backbone.model, backbone.head)
    ids = torch.from_numpy(text[:32])[None].to(backbone.model.device)
    with torch.inference_mode():
        hidden = backbone.hidden(input_ids=ids, use_cache=False)[0]  # (T, D)
        rows = torch.arange(len(hidden) - 1)
        targets = torch.from_numpy(text[1:32])
        try:
            gap = (
                chunked.logprobs(hidden, rows, targets) - own.logprobs(hidden, rows, targets)
            ).abs()
        except RuntimeError:
            return own
    of_token = TOLERANCES_NATS.get(backbone.model.dtype, LOW_PRECISION_NATS)[0]
    return chunked if not len(gap) or float(gap.max()) <= of_token else own


def check_causal(backbone: Backbone, text: Ids) -> None:
    """Refuse a model whose log-probabilities of a text's beginning depend on its end.

    Raises:
        ScoringError: it is not causal.
    """
    single = Single(backbone, OwnHead(backbone))
    whole, beginning = text[:24], text[:16]
    if len(whole) <= len(beginning) or len(beginning) < 2:
        return
    one, other = single.logprobs([[whole]])[0][0], single.logprobs([[beginning]])[0][0]
    gap = np.abs(one[1 : len(beginning)] - other[1:])
    limit = 0.01 if backbone.model.dtype in TOLERANCES_NATS else 10 * LOW_PRECISION_NATS[1]
    if np.isfinite(gap).all() and gap.max() > limit:
        name = type(backbone.model).__name__
        raise ScoringError(
            f"{name} looks at what comes after a word: it is no causal language model."
        )


def all_finite(result: Sequence[LogProbs]) -> bool:
    """Whether every scored token of these texts has a finite log-probability."""
    return all(bool(np.isfinite(text[1:]).all()) for text in result)
