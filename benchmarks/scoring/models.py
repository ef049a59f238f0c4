"""Random models in the shapes of known ones, and the texts to score with them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedModel,
)

from experiment.domain import markup
from experiment.imports.read.brainbench import read_published
from experiment.imports.store.published import country_codes
from experiment.services.item_choice import read_items
from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.loading import DTYPES, quiet
from scoring.domain.backend import ScoringError
from scoring.domain.conditions import MarkedText
from scoring.domain.encoding import encode
from scoring.domain.prompts import Prompt

_TOKENS: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0}
PRESETS: dict[str, Callable[[], PreTrainedConfig]] = {
    "gpt2": GPT2Config,  # 124M
    "gpt2-128k": lambda: GPT2Config(n_layer=2, vocab_size=131072, **_TOKENS),  # for memory alone
    "llama-1b": lambda: LlamaConfig(  # 1.24B, the shape of Llama-3.2-1B
        hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
        intermediate_size=8192, vocab_size=128256, max_position_embeddings=4096, tie_word_embeddings=True, **_TOKENS,
    ),
    "llama-7b": lambda: LlamaConfig(  # 6.9B
        hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, intermediate_size=11008,
        vocab_size=50304, max_position_embeddings=4096, **_TOKENS,
    ),
}  # fmt: skip


def random_model(config: str, dtype: str = "float32", device: str = "cpu") -> PreTrainedModel:
    """A randomly initialised model of a preset, or of the configuration in a folder.

    Raises:
        ScoringError: no such preset or folder, or an unknown dtype.
    """
    if dtype not in DTYPES:
        raise ScoringError(f"dtype={dtype}: choose one of {', '.join(DTYPES)}.")
    if config in PRESETS:
        shape = PRESETS[config]()
    elif Path(config).exists():
        shape = AutoConfig.from_pretrained(config, trust_remote_code=False)
    else:
        raise ScoringError(
            f"config={config} is neither a folder with a config.json nor one of {', '.join(PRESETS)}."
        )
    torch.manual_seed(0)
    with quiet(), torch.device(device):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            shape, dtype=DTYPES[dtype]
        )
    model.eval()  # type: ignore[no-untyped-call]
    return model


def read_pairs(folder: Path | None) -> list[tuple[str, str]]:
    """The human-created pairs of a published folder, or the built-in demo's pairs.

    Raises:
        ScoringError: the folder cannot be read.
    """
    if folder is None:
        abstracts = [markup.parse(e["markup"]) for e in read_items() if e["kind"] == "test"]
        return [(a.original, a.altered) for a in abstracts]
    data = read_published(folder, country_codes())
    if data.problems:
        problem = data.problems[0]
        raise ScoringError(f"--items {folder}: {problem.file}: {problem.message}")
    pairs = [markup.parse(i.markup) for i in data.items if i.source == "human"]
    return [(a.original, a.altered) for a in pairs]


def encode_pairs(tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[list[Ids]]:
    """Token ids of each pair behind the paper's sentence."""
    prompt = Prompt("paper")
    return [
        [encode(tokenizer, prompt, MarkedText(text, ())).ids for text in pair] for pair in pairs
    ]
