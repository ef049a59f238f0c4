"""Models that are real but for their size: random weights, saved as safetensors, a small tokenizer beside them."""

from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, GPT2Config, PreTrainedConfig

from scoring.backends.causal_lm.loading import quiet
from tests.scoring.ngram_backend import make_tokenizer

WINDOW = 1024  # tokens


def save_gpt2(folder: Path, seed: int = 0, **config: Any) -> Path:
    """A GPT-2 of two layers with its tokenizer; its folder. Another seed gives other weights."""
    values = {"n_embd": 48, "n_layer": 2, "n_head": 2, "n_positions": WINDOW}
    values |= {"vocab_size": len(make_tokenizer()), "bos_token_id": 0, "eos_token_id": 0}
    return save_random(folder, GPT2Config(**(values | config)), seed=seed)


def save_random(
    folder: Path, config: PreTrainedConfig, dtype: torch.dtype = torch.float32, seed: int = 0
) -> Path:
    """A random model of a configuration, with a tokenizer that need not fit it; its folder."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(4)  # so that what is read matters
        model.to(dtype).save_pretrained(folder)
        make_tokenizer().save_pretrained(folder)
    return folder


def save_lora(base: Path, folder: Path, *targets: str) -> Path:
    """An adapter onto these layers of such a model, of random weights, so that it changes what the model says."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_pretrained(base)
        is_turned = model.config.model_type == "gpt2"  # it holds (in, out)
        config = LoraConfig(
            r=2,
            task_type="CAUSAL_LM",
            target_modules=list(targets or ["c_attn"]),
            fan_in_fan_out=is_turned,
        )
        adapted = get_peft_model(model, config)
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                torch.nn.init.normal_(parameter, std=0.3)
        adapted.save_pretrained(folder, save_embedding_layers=False)
    return folder
