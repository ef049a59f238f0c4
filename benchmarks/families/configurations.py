"""The model families of the sweep: real configuration classes of transformers, at small sizes.

Each has twelve layers, more than a look at the first few would see, and windows of 16 tokens, which every text exceeds
many times; where a family mixes kinds of layers, the last two differ from those before.
"""

from dataclasses import dataclass, field
from typing import Any

from transformers import CONFIG_MAPPING, PreTrainedConfig

N_LAYERS = 12
WINDOW = 16  # tokens
VOCABULARY = 3072  # the demonstration model's, whose tokenizer reads the texts
# Whatever of these a configuration has by default is set; names differ, sizes do not
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "d_model": 64,
    "num_hidden_layers": N_LAYERS,
    "decoder_layers": N_LAYERS,
    "num_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "ffn_dim": 96,
    "decoder_ffn_dim": 96,
    "n_inner": 96,
    "max_position_embeddings": 512,
    "sliding_window": WINDOW,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
# Windows in the last two layers alone
LATE_WINDOWS = {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 10}
LATE_WINDOWS_LISTED = {
    "use_sliding_window": True, "sliding_window": WINDOW, "layer_types": [FULL] * 10 + [SLIDING] * 2,
}  # fmt: skip
# The last layer alone differs from a pattern that ends before it
LATE_FULL = {"layer_types": [SLIDING] * (N_LAYERS - 1) + [FULL]}
LATE_SLIDING = {"layer_types": [FULL] * (N_LAYERS - 1) + [SLIDING]}
# Latent attention: keys and values from a small matrix, rotation of a part of a head
LATENT = {
    "head_dim": 8, "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24,
    "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
}  # fmt: skip
GROUPS = {"n_group": 1, "topk_group": 1}
DENSE_FIRST = {"first_k_dense_replace": 10, "n_routed_experts": 4, "n_shared_experts": 1}
MAMBA = {"mamba_d_state": 8, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_chunk_size": 16}
DELTA = {
    "layer_types": [FULL] * 10 + [LINEAR, FULL], "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """A model type of transformers and what is odd about this configuration of it."""

    model_type: str
    trait: str
    settings: dict[str, Any] = field(default_factory=dict)
    is_refused: bool = False  # should scoring end in one sentence?

    @property
    def name(self) -> str:
        return f"{self.model_type}, {self.trait}"

    def config(self) -> PreTrainedConfig:
        kind = CONFIG_MAPPING[self.model_type]
        known = {*kind().to_dict(), *kind.attribute_map}
        spelled = {kind.attribute_map.get(name, name) for name in self.settings}
        sizes = {
            name: value
            for name, value in SIZES.items()
            if name in known and kind.attribute_map.get(name, name) not in spelled
        }
        return kind(**sizes, **self.settings)
