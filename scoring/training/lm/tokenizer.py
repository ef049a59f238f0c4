"""Trains a tokenizer on a corpus: byte-level BPE in GPT-2's manner. Knows no model."""

import json
import math
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from scoring.training.lm.staging import staged_folder
from scoring.training.settings import TrainingError

# Begins every text and ends every document; the first of the ids, which models made with it are told
END, END_ID = "<|endoftext|>", 0
BYTES = 256


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Learn at most `vocabulary` tokens: the end token, the 256 bytes, and what is most often joined.

    Raises:
        TrainingError: the vocabulary is too small for the bytes.
    """
    if vocabulary <= BYTES:
        raise TrainingError(
            f"A vocabulary holds {BYTES} bytes and an end token: ask for {BYTES + 1} tokens or more."
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, END_ID)]
    )
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder that transformers reads a fast tokenizer from, whole or not at all."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "pad_token": END,
        "clean_up_tokenization_spaces": False,
    }
    with staged_folder(folder) as part:
        tokenizer.save(str(part / "tokenizer.json"), pretty=True)
        text = json.dumps(config, indent=2) + "\n"
        (part / "tokenizer_config.json").write_text(text, encoding="utf-8")


def bytes_per_token(tokenizer: Tokenizer, texts: Iterable[str]) -> float:
    """How many bytes of these texts a token stands for, on average; more is shorter texts for a model."""
    size = tokens = 0
    for text in texts:
        size += len(text.encode())
        tokens += len(tokenizer.encode(text, add_special_tokens=False).ids)
    return size / tokens if tokens else math.nan
