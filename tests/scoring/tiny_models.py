"""GPT-2s that are real but for their size: random weights, saved as safetensors, a small tokenizer beside them."""

from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, PreTrainedConfig

from scoring.backends.causal_lm.loading import quiet
from tests.scoring.ngram_backend import make_tokenizer

WINDOW = 1024  # tokens


def save_gpt2(folder: Path, seed: int = 0, **config: Any) -> Path:
    """A model of two layers with its tokenizer; its folder. Another seed gives other weights."""
    tokenizer = make_tokenizer()
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        model = _gpt2(len(tokenizer), **config)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def save_random(folder: Path, config: PreTrainedConfig, dtype: torch.dtype = torch.float32) -> Path:
    """A random model of a configuration, with a tokenizer that need not fit it; its folder."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(4)
        model.to(dtype).save_pretrained(folder)
        make_tokenizer().save_pretrained(folder)
    return folder


def save_lora(base: Path, folder: Path, **config: Any) -> Path:
    """An adapter onto such a model that changes what it says; onto one of another shape, if `config` says so."""
    size = GPT2Config.from_pretrained(base).vocab_size
    lora = LoraConfig(r=2, task_type="CAUSAL_LM", target_modules=["c_attn"], fan_in_fan_out=True)
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(1)
        adapted = get_peft_model(_gpt2(size, **config), lora)
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                torch.nn.init.normal_(parameter, std=0.3)
        adapted.save_pretrained(folder, save_embedding_layers=False)
    return folder


def _gpt2(vocab_size: int, **config: Any) -> GPT2LMHeadModel:
    values = {"n_embd": 48, "n_layer": 2, "n_head": 2, "n_positions": WINDOW}
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=vocab_size, **ends, **(values | config))).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(4)  # so that what is read matters
    return model
