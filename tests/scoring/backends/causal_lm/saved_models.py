"""Tiny random models of several families that know GPT-2's tokens, saved as their users would save them."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PhiConfig,
    PhiForCausalLM,
    PreTrainedModel,
)

from scoring.backends.causal_lm.loading import quiet

_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 50257,
    "max_position_embeddings": 1024,
}
_MAKERS = {
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2)),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**_SIZES, num_key_value_heads=1)),
    "mistral": lambda: MistralForCausalLM(
        MistralConfig(**_SIZES, num_key_value_heads=1, sliding_window=64)
    ),
    "phi": lambda: PhiForCausalLM(PhiConfig(**_SIZES)),
}


def tiny_model(kind: str = "gpt2", seed: int = 0) -> PreTrainedModel:
    """A random model of 32 dimensions, whose window holds 1,024 tokens."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        model = _MAKERS[kind]().eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(4)  # so that what is read matters
    return model


def save_model(folder: Path, tokenizer: Path, kind: str, seed: int = 0) -> Path:
    """Save one with its tokenizer, as safetensors; the folder."""
    with quiet():
        tiny_model(kind, seed).save_pretrained(folder)
        AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
    return folder


def save_adapter(folder: Path, kind: str, *targets: str) -> Path:
    """A LoRA adapter onto these layers whose every weight is random, so that it changes what the model says."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=4, task_type="CAUSAL_LM", target_modules=list(targets), fan_in_fan_out=kind == "gpt2"
    )
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(1)
        adapted = get_peft_model(tiny_model(kind), config)
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                torch.nn.init.normal_(parameter, std=0.3)
        adapted.save_pretrained(folder, save_embedding_layers=False)
    return folder
