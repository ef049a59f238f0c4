"""Tiny random models of many architectures, and what an independent computation makes of them."""

import copy
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from benchmarks.families.families import (  # fmt: skip
    DELTA,
    FULL,
    GROUPS,
    LATENT,
    LINEAR,
    MAMBA,
    SLIDING,
    Family,
)

VOCABULARY = 211
# The kind of model, what is set beside the sizes, and the strategy that is right and fastest for it.
# Texts of the tests have 20 to 70 tokens: windows of 16 are shorter than most of them
ARCHITECTURES: dict[str, tuple[str, dict[str, Any], str]] = {
    "gpt2": ("gpt2", {}, "packed"),
    "llama": ("llama", {}, "packed"),
    "mistral": ("mistral", {}, "packed"),
    "qwen2": ("qwen2", {}, "packed"),
    "qwen3": ("qwen3", {}, "packed"),
    "gemma2": ("gemma2", {}, "packed"),
    "gemma3": ("gemma3_text", {"layer_types": [SLIDING, FULL]}, "packed"),
    "phi": ("phi", {}, "packed"),
    "phi3": ("phi3", {"sliding_window": None}, "packed"),
    "falcon-rotary": ("falcon", {}, "mask"),
    "falcon-alibi": ("falcon", {"alibi": True}, "cache"),
    "mpt": ("mpt", {}, "cache"),
    "bloom": ("bloom", {}, "cache"),
    "opt": ("opt", {"word_embed_proj_dim": 64}, "packed"),
    "gptj": ("gptj", {"rotary_dim": 8}, "mask"),
    "gpt_neox": ("gpt_neox", {}, "packed"),
    "cohere": ("cohere", {}, "packed"),
    "granite": ("granite", {"logits_scaling": 3.0}, "packed"),
    "mamba": ("mamba", {"state_size": 8}, "padded"),
    "mamba2": ("mamba2", {"state_size": 8, "num_heads": 8, "n_groups": 2}, "cache"),
    "falcon_h1": ("falcon_h1", {**MAMBA, "mamba_d_ssm": 128, "lm_head_multiplier": 0.5}, "cache"),
    "recurrent_gemma": ("recurrent_gemma", {"num_hidden_layers": 3, "num_key_value_heads": 1, "lru_width": 64, "attention_window_size": 16}, "padded"),
    "jamba": ("jamba", {"num_hidden_layers": 8, "mamba_d_state": 8, "mamba_dt_rank": 4, "use_mamba_kernels": False}, "padded"),
    "qwen3_next": ("qwen3_next", {**DELTA, "num_hidden_layers": 4, "layer_types": [LINEAR] * 3 + [FULL]}, "cache"),
    "deepseek_v2": ("deepseek_v2", {**LATENT, **GROUPS, "n_routed_experts": 16, "first_k_dense_replace": 1}, "packed"),
    "deepseek_v3": ("deepseek_v3", {**LATENT, "n_group": 4, "topk_group": 1, "n_routed_experts": 16, "first_k_dense_replace": 1}, "packed"),
}  # fmt: skip


def config_of(model_type: str, **settings: Any) -> PreTrainedConfig:
    """A configuration of two layers, if nothing else is said, and otherwise of the sizes of the sweep's families."""
    sizes = {"num_hidden_layers": 2, "vocab_size": VOCABULARY}
    return Family(model_type, "", sizes | settings).config()


def late_windows(model_type: str) -> PreTrainedModel:
    """Twelve layers of which only the last two look through a window, of 40 tokens; small weights hide it on real items."""
    windows = {"use_sliding_window": True, "sliding_window": 40, "max_window_layers": 10}
    layers = {"num_hidden_layers": 12, "layer_types": [FULL] * 10 + [SLIDING] * 2}
    return _random(config_of(model_type, **windows, **layers), seed=0)


def make_model(name: str, seed: int = 0) -> PreTrainedModel:
    """A random float32 model whose weights are large enough for a wrongly seen token to matter."""
    model_type, settings, _ = ARCHITECTURES[name]
    model = _random(config_of(model_type, **settings), seed)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(4)
    return model


def _random(config: PreTrainedConfig, seed: int) -> PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config).float().eval()
    return model


def make_groups(seed: int = 0, n: int = 4) -> list[list[np.ndarray]]:
    """Pairs of texts that share an instruction and a beginning, as the versions of an item do."""
    rng = np.random.default_rng(seed)

    def some(length: int) -> np.ndarray:
        return rng.integers(3, 200, length)

    instruction = some(6)
    groups = []
    for _ in range(n):
        shared = np.concatenate([instruction, some(int(rng.integers(1, 30)))])
        groups.append([np.concatenate([shared, some(int(rng.integers(1, 35)))]) for _ in "AB"])
    return groups


def expected_logprobs(model: PreTrainedModel, ids: np.ndarray) -> np.ndarray:
    """(T,) log-probabilities of one text alone: float64 throughout, full log-softmax. NaN first."""
    double = copy.deepcopy(model).double()
    if double._can_set_experts_implementation():
        double.set_experts_implementation("eager")  # the fused kernel knows no float64
    with torch.inference_mode():
        logits = double(input_ids=torch.from_numpy(ids)[None], use_cache=False).logits[0]
    table = torch.log_softmax(logits.double(), dim=-1)[:-1]
    picked = table.gather(1, torch.from_numpy(ids[1:])[:, None])[:, 0]
    return np.concatenate([[np.nan], picked.numpy()])


def perplexity_of(logprobs: np.ndarray) -> float:
    return float(np.exp(-logprobs[1:].mean()))
