"""A model small enough to try anything on, in which who sees whom is as in a given one.

Sizes shrink. The number of layers and every rule that a configuration states per layer (window, attention or recurrence,
dense or experts, rotary or none ...) stay, whatever an architecture calls them: nothing here reads such a rule.
"""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from scoring.backends.causal_lm.loading import quiet
from scoring.backends.causal_lm.precision import make_precise, precisely

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
        _shrink(part, n_heads)
    return tiny


def _parts(config: PreTrainedConfig) -> Iterator[PreTrainedConfig]:
    """A configuration and those within it."""
    yield config
    for value in list(vars(config).values()):
        if isinstance(value, PreTrainedConfig):
            yield from _parts(value)


def _shrink(config: PreTrainedConfig, n_heads: int) -> None:
    put = _Setter(config)
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


class _Setter:
    """Sets what a configuration has, under the name that it has it by."""

    def __init__(self, config: PreTrainedConfig) -> None:
        self.config = config
        self.values = config.to_dict()

    def before(self, name: str) -> Any:
        """What it was at first; None where there is no such size."""
        value = self.values.get(self.config.attribute_map.get(name, name))
        return None if isinstance(value, bool) else value

    def __call__(self, name: str, value: int) -> None:
        before = self.before(name)
        if isinstance(before, int):
            setattr(self.config, name, value)
        elif isinstance(before, list | tuple):  # one for each layer
            setattr(self.config, name, type(before)(value for _ in before))
