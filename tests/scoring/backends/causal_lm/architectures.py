"""Tiny random models of many architectures, and what an independent computation makes of them."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers as hf
from transformers import AutoModelForCausalLM, PreTrainedModel

VOCABULARY = 211
_SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 512,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
_GQA = {**_SIZES, "num_key_value_heads": 2}
_OLD = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
_GPT = {
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "vocab_size": VOCABULARY,
    "n_positions": 512,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
# Texts of the tests have 20 to 70 tokens: these windows are shorter than most of them
_WINDOW = {"sliding_window": 16}

_FEW_EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
_LATENT = {
    **_FEW_EXPERTS,
    "num_key_value_heads": 4,
    "n_routed_experts": 16,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
}

# name -> (configuration, the strategy that is right and fastest for it)
ARCHITECTURES: dict[str, tuple[Callable[[], Any], str]] = {
    "gpt2": (lambda: hf.GPT2Config(**_GPT), "packed"),
    "llama": (lambda: hf.LlamaConfig(**_GQA), "packed"),
    "mistral": (lambda: hf.MistralConfig(**_GQA, **_WINDOW), "packed"),
    "qwen2": (lambda: hf.Qwen2Config(**_GQA), "packed"),
    "qwen3": (lambda: hf.Qwen3Config(**_GQA, head_dim=16), "packed"),
    "gemma2": (lambda: hf.Gemma2Config(**_GQA, **_WINDOW, head_dim=16, pad_token_id=0), "packed"),
    "gemma3": (
        lambda: hf.Gemma3TextConfig(
            **_GQA,
            **_WINDOW,
            head_dim=16,
            pad_token_id=0,
            layer_types=["sliding_attention", "full_attention"],
        ),
        "packed",
    ),
    "phi": (lambda: hf.PhiConfig(**_SIZES), "packed"),
    "phi3": (lambda: hf.Phi3Config(**_GQA, pad_token_id=0), "packed"),
    "falcon-rotary": (lambda: hf.FalconConfig(**_OLD), "mask"),
    "falcon-alibi": (lambda: hf.FalconConfig(**_OLD, alibi=True), "cache"),
    "mpt": (
        lambda: hf.MptConfig(
            d_model=64, n_heads=4, n_layers=2, vocab_size=VOCABULARY, max_seq_len=512
        ),
        "cache",
    ),
    "bloom": (
        lambda: hf.BloomConfig(
            hidden_size=64, n_layer=2, n_head=4, vocab_size=VOCABULARY, pad_token_id=0
        ),
        "cache",
    ),
    "opt": (
        lambda: hf.OPTConfig(
            **_OLD, ffn_dim=128, max_position_embeddings=512, word_embed_proj_dim=64, pad_token_id=0
        ),
        "packed",
    ),
    "gptj": (lambda: hf.GPTJConfig(**_GPT, rotary_dim=8), "mask"),
    "gpt_neox": (lambda: hf.GPTNeoXConfig(**_SIZES), "packed"),
    "cohere": (lambda: hf.CohereConfig(**_GQA, pad_token_id=0), "packed"),
    "granite": (lambda: hf.GraniteConfig(**_GQA, logits_scaling=3.0), "packed"),
    "mamba": (
        lambda: hf.MambaConfig(
            hidden_size=64, num_hidden_layers=2, vocab_size=VOCABULARY, state_size=8
        ),
        "padded",
    ),
    "mamba2": (
        lambda: hf.Mamba2Config(
            hidden_size=64,
            num_hidden_layers=2,
            vocab_size=VOCABULARY,
            state_size=8,
            num_heads=8,
            head_dim=16,
            n_groups=2,
        ),
        "cache",
    ),
    "recurrent_gemma": (
        lambda: hf.RecurrentGemmaConfig(
            **_SIZES | {"num_hidden_layers": 3},
            num_key_value_heads=1,
            lru_width=64,
            attention_window_size=16,
            pad_token_id=0,
        ),
        "padded",
    ),
    "jamba": (
        lambda: hf.JambaConfig(
            **_GQA | {"num_hidden_layers": 8},
            num_experts=4,
            mamba_d_state=8,
            mamba_dt_rank=4,
            use_mamba_kernels=False,
            pad_token_id=0,
        ),
        "padded",
    ),
    "qwen3_next": (
        lambda: hf.Qwen3NextConfig(
            **_GQA | {"num_hidden_layers": 4},
            **_FEW_EXPERTS,
            head_dim=16,
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            linear_key_head_dim=16,
            linear_value_head_dim=16,
            shared_expert_intermediate_size=32,
            num_experts=4,
        ),
        "cache",
    ),
    "deepseek_v2": (lambda: hf.DeepseekV2Config(**_SIZES, **_LATENT, n_group=1), "packed"),
    "deepseek_v3": (lambda: hf.DeepseekV3Config(**_SIZES, **_LATENT, n_group=4), "packed"),
}


def late_windows(kind: type[Any]) -> PreTrainedModel:
    """Twelve layers of which only the last two look through a window, of 40 tokens; small weights hide it on real items."""
    config = kind.config_class(
        **_GQA | {"num_hidden_layers": 12},
        use_sliding_window=True,
        layer_types=["full_attention"] * 10 + ["sliding_attention"] * 2,
        sliding_window=40,
        **(_FEW_EXPERTS | {"num_experts": 4} if "Moe" in kind.__name__ else {}),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: PreTrainedModel = kind(config).eval()
    return model


def make_model(name: str, seed: int = 0) -> PreTrainedModel:
    """A random float32 model whose weights are large enough for a wrongly seen token to matter."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(ARCHITECTURES[name][0]()).float().eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(4)
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
