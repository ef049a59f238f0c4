"""Texts to try a strategy on, and how far what it gives is from one text at a time.

And a model small enough to try anything on, in which who sees whom is as in a given one: sizes shrink; the number of layers and
every rule that a configuration states per layer (window, attention or recurrence, dense or experts, rotary or none ...) stay,
whatever an architecture calls them: nothing here reads such a rule.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig, PreTrainedModel

from scoring.backends.causal_lm import layout
from scoring.backends.causal_lm.head import Backbone
from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.loading import quiet
from scoring.backends.causal_lm.precision import make_precise, precisely
from scoring.backends.causal_lm.strategies import Groups, Head, Single, Strategy
from scoring.domain.backend import LogProbs

VOCABULARY = 257
HEAD_SIZE = 16
EXPERTS, CHOSEN = 16, 4  # enough to choose from, and for several groups of experts
WEIGHT_SCALE = 5.0
# Heads, and precision. Two heads suffice where nothing has to go into more; float64, because rounding then stays far
# below what a wrongly seen token changes, however many layers there are
ATTEMPTS = ((2, torch.float64), (4, torch.float64), (4, torch.float32))
# What architectures call a size, by what it becomes
SIZES = {
    "vocabulary": "vocab_size unpadded_vocab_size vocab_size_per_layer_input",
    "width": "hidden_size word_embed_proj_dim embedding_size lru_width embedding_dim",
    "inner": """
        ffn_dim n_inner ffn_hidden_size mamba_d_ssm intermediate_size_mlp dense_intermediate_size feed_forward_size
        decoder_ffn_dim encoder_ffn_dim dff d_inner dim_ff attention_hidden_size""",
    "two heads": """
        moe_intermediate_size shared_expert_intermediate_size shared_intermediate_size
        shared_experts_intermediate_size moe_shared_expert_intermediate_size expert_ffn_hidden_size
        q_lora_rank kv_lora_rank o_lora_rank qk_head_dim index_head_dim attention_head_dim""",
    "head": """
        head_dim global_head_dim v_head_dim qk_rope_head_dim qk_nope_head_dim swa_head_dim kv_channels
        linear_key_head_dim linear_value_head_dim linear_head_dim mamba_d_head mamba_head_dim mamba_headdim
        attention_head_size dim_head d_head hidden_size_per_layer_input""",
    "half a head": "rotary_dim state_size ssm_state_size mamba_d_state",
    "heads": """
        num_attention_heads swa_num_attention_heads num_attention_heads_per_layer encoder_attention_heads
        decoder_attention_heads index_n_heads linear_num_heads linear_num_value_heads
        time_step_rank mamba_dt_rank laurel_rank""",
    "inner heads": "mamba_n_heads mamba_num_heads n_mamba_heads",
}
# Heads that several others share, and the heads that share them
SHARED_HEADS = {
    "num_key_value_heads": "num_attention_heads",
    "num_kv_heads": "num_attention_heads",
    "num_global_key_value_heads": "num_attention_heads",
    "swa_num_key_value_heads": "swa_num_attention_heads",
    "linear_num_key_heads": "linear_num_value_heads",
}
# These only ever become smaller
AT_MOST = {
    EXPERTS: "num_experts n_routed_experts num_local_experts moe_num_experts",
    CHOSEN: "num_experts_per_tok moe_topk moe_top_k num_experts_per_token top_k_experts",
}


def tiny_model(model: PreTrainedModel) -> PreTrainedModel | None:
    """A model of the same class whose configuration differs in sizes only; None if it cannot be made.

    In float64 where the architecture can, else in float32.
    """
    for heads, dtype in ATTEMPTS:
        try:
            return make(type(model), model.config, heads, dtype)
        except Exception:  # noqa: BLE001, S112 (any architecture may need more than we know of)
            continue
    return None


def make(
    kind: type[PreTrainedModel], config: PreTrainedConfig, n_heads: int, dtype: torch.dtype
) -> PreTrainedModel:
    """A tiny model of a class, from the configuration of a large one. Raises whatever the architecture does."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        tiny: PreTrainedModel = kind._from_config(  # type: ignore[no-untyped-call]
            tiny_config(config, n_heads),
            dtype=dtype,
            attn_implementation=config._attn_implementation,
        )
    for parameter in tiny.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(WEIGHT_SCALE)
    tiny.eval()  # type: ignore[no-untyped-call]
    make_precise(tiny)
    with torch.inference_mode(), precisely(tiny):
        logits = tiny(input_ids=torch.arange(3, 11)[None], use_cache=False).logits
    if not bool(torch.isfinite(logits).all()):
        raise FloatingPointError("the tiny model computes no numbers")
    return tiny


def tiny_config(config: PreTrainedConfig, n_heads: int) -> PreTrainedConfig:
    """A copy with small sizes; what decides who sees whom stays as it is."""
    tiny = copy.deepcopy(config)
    for part in _parts(tiny):
        put = _Setter(part)
        width = n_heads * HEAD_SIZE
        expand = put.before("expand")
        inner = int((expand if isinstance(expand, int | float) else 2) * width)
        sizes = {
            "vocabulary": VOCABULARY,
            "width": width,
            "inner": 2 * width,
            "head": HEAD_SIZE,
            "two heads": 2 * HEAD_SIZE,
            "half a head": HEAD_SIZE // 2,
            "heads": n_heads,
            "inner heads": 2 * n_heads,
        }
        for size, names in SIZES.items():
            for name in names.split():
                put(name, sizes[size])
        put("intermediate_size", inner)
        # Mamba-2's heads share its inner width; where there are others, this is their other name
        if put.before("num_attention_heads") is None:
            put("num_heads", inner // HEAD_SIZE)
        for name, of in SHARED_HEADS.items():
            n, heads = put.before(name), put.before(of)
            put(name, n_heads if n == heads else 1 if n == 1 else n_heads // 2)
        for value, names in AT_MOST.items():
            for name in names.split():
                if isinstance(n := put.before(name), int):
                    put(name, min(n, value))
        for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
            put(name, 0)
    return tiny


def _parts(config: PreTrainedConfig) -> Iterator[PreTrainedConfig]:
    """A configuration and those within it."""
    yield config
    for value in list(vars(config).values()):
        if isinstance(value, PreTrainedConfig):
            yield from _parts(value)


class _Setter:
    """Sets what a configuration has, under the name that it has it by."""

    def __init__(self, config: PreTrainedConfig) -> None:
        self.config = config
        self.values = config.to_dict()

    def before(self, name: str) -> Any:
        """The size as it was at first; None where there is no such size."""
        value = self.values.get(self.config.attribute_map.get(name, name))
        return None if isinstance(value, bool) else value

    def __call__(self, name: str, value: int) -> None:
        before = self.before(name)
        if isinstance(before, int):
            setattr(self.config, name, value)
        elif isinstance(before, list | tuple):  # one for each layer
            setattr(self.config, name, type(before)(value for _ in before))


ROOT, TRUNK, BRANCH = 16, 16, 12  # tokens: of an instruction, before two versions part, and after
EVERY = 8  # on real weights one position in so many is looked up: a vocabulary can cost as much as half a model


@dataclass(frozen=True)
class Gap:
    """Largest difference of a token's log-probability and of a text's mean, in nats; or why a strategy does not run."""

    of_token: float = 0.0
    of_mean: float = 0.0
    error: str = ""


class Trial:
    """Groups of texts that a model runs one at a time, once, and then as each strategy would.

    checked: (group, text) that are compared, where not all are; the others only stand in their way.
    """

    def __init__(
        self,
        backbone: Backbone,
        head: Head,
        groups: Groups,
        *,
        every: int = 1,
        checked: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.backbone, self.head, self.groups, self.every = backbone, head, groups, every
        self.checked = checked or [
            (n, m) for n, group in enumerate(groups) for m in range(len(group))
        ]

    @cached_property
    def alone(self) -> list[LogProbs]:
        """The log-probabilities of each compared text when it is all that the model sees."""
        single = Single(self.backbone, self.head, self.every)
        return single.logprobs([[self.groups[n][m] for n, m in self.checked]])[0]

    def gap(self, kind: type[Strategy]) -> Gap:
        """How far a strategy is from that. Where its error leaves the GPU unusable, no other could be tried after it."""
        try:
            results = kind(self.backbone, self.head, self.every).logprobs(self.groups)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # an architecture may refuse in any way it likes
            if isinstance(error, torch.AcceleratorError) and not _computes(self.backbone.model):
                raise
            said = str(error).splitlines()
            return Gap(
                error=f"{type(error).__name__}: {said[0] if said else 'no reason given'}"[:200]
            )
        gaps = [
            (results[n][m] - alone)[~np.isnan(alone)]
            for (n, m), alone in zip(self.checked, self.alone, strict=True)
        ]
        if not all(np.isfinite(gap).all() for gap in gaps):
            return Gap(np.inf, np.inf)
        return Gap(
            max(float(np.abs(gap).max(initial=0.0)) for gap in gaps),
            max(abs(float(gap.mean())) for gap in gaps if gap.size),
        )


def _computes(model: PreTrainedModel) -> bool:
    """True if the model's device still computes: most errors of a GPU's kernel leave a process without it."""
    try:
        return bool(torch.ones(1, device=model.device).sum().item() == 1)
    except torch.AcceleratorError:
        return False


def random_groups(longest: int, vocabulary: int) -> list[list[Ids]]:
    """Two pairs of random texts that share an instruction: one text of `longest` tokens behind a version of it that is cut
    off where they part, and two short texts."""
    rng = np.random.default_rng(0)

    def some(n: int) -> Ids:
        return rng.integers(3, vocabulary, max(n, 1))

    instruction = some(min(ROOT, longest // 4))
    begun = np.concatenate([instruction, some(longest // 2 - len(instruction))])
    long = [np.concatenate([begun, some(n)]) for n in (BRANCH, longest - len(begun))]
    trunk = np.concatenate([instruction, some(min(TRUNK, longest // 4))])
    short = [np.concatenate([trunk, some(min(n, longest - len(trunk)))]) for n in (BRANCH, TRUNK)]
    return [long, short]


def real_groups(groups: Groups) -> list[list[Ids]]:
    """The longest text behind a version of it that is cut off where they part, and a cut-out of the shortest group.

    As few tokens as show what sharing does: this much is run under the real model, shared and alone.
    """
    longest = max(groups, key=lambda group: max(len(text) for text in group))
    text = max(longest, key=len)
    others = [other for other in longest if other is not text][:1]
    shared = min(layout.shared_length([text, *others]), len(text) - 1)
    begun = [other[: shared + BRANCH] for other in others]
    shortest = min(groups, key=lambda group: max(len(text) for text in group))
    root = layout.shared_length([text for group in groups for text in group])
    # Of the shortest group its instruction, and what is around the place where its texts part
    shared = min(layout.shared_length(shortest), min(len(text) for text in shortest) - 1)
    begin = min(root, shared)
    cut_out = [
        np.concatenate([text[:begin], text[max(begin, shared - TRUNK) : shared + BRANCH]])
        for text in shortest
    ]
    return [[*begun, text], cut_out]
