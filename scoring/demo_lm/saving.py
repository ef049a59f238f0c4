"""Writes the trained demonstration model as a folder that transformers loads, with its manifest."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import safetensors.torch
import torch
from tokenizers import Tokenizer

from scoring.demo_lm import NAME
from scoring.demo_lm.corpus import Paragraph, corpus_sha256
from scoring.demo_lm.embedded import write_manifest
from scoring.demo_lm.training import Recipe, Trained
from scoring.domain.backend import ScoringError
from scoring.training.lm.tokenizer import END

LABEL = "demonstration only"
ABOUT = (
    "A very small language model, trained from scratch on about 900 sentences written for this project. It shows "
    "how scoring works; its results say nothing about language models."
)
LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors")


def ensure_writable(folder: Path) -> None:
    """Make the folder, and see that files can be made in it: before minutes of training rather than after.

    Raises:
        ScoringError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ScoringError(
            f"Nothing can be written to {folder} ({error.strerror}): choose another --output."
        ) from error


def save(
    trained: Trained, recipe: Recipe, paragraphs: Sequence[Paragraph], folder: Path
) -> dict[str, Any]:
    """Write weights, configuration, tokenizer and, last, the manifest; return the manifest.

    Raises:
        ScoringError: the disk does not take them.
    """
    # GPT-2 reads words by the same matrix as it writes them; it is stored once.
    weights = {k: v for k, v in trained.model.state_dict().items() if k != "lm_head.weight"}
    try:
        (folder / "model.safetensors").write_bytes(
            safetensors.torch.save(weights, metadata={"format": "pt"})
        )
        trained.model.config.save_pretrained(folder)
        _save_tokenizer(trained.tokenizer, folder, recipe.context)
        return write_manifest(folder, _facts(trained, recipe, paragraphs))
    except OSError as error:
        raise ScoringError(f"The model could not be written to {folder}: {error}.") from error


def _save_tokenizer(tokenizer: Tokenizer, folder: Path, context_tokens: int) -> None:
    """Write the two files that transformers reads a fast tokenizer from."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=True)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **dict.fromkeys(("bos_token", "eos_token", "pad_token"), END),
        "model_max_length": context_tokens,
        "clean_up_tokenization_spaces": False,
    }
    text = json.dumps(config, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


def _facts(trained: Trained, recipe: Recipe, paragraphs: Sequence[Paragraph]) -> dict[str, Any]:
    return {
        "name": NAME,
        "label": LABEL,
        "about": ABOUT,
        "licence": "Apache-2.0",
        "made_by": "manage.py train_demo_lm",
        "parameters": sum(p.numel() for p in trained.model.parameters()),
        "corpus": {
            "sha256": corpus_sha256(),
            "paragraphs": len(paragraphs),
            "sentences": sum(len(p.sentences) for p in paragraphs),
            "words": sum(len(p.text.split()) for p in paragraphs),
        },
        "recipe": asdict(recipe),
        "best_step": trained.best_step,
        "losses": {
            "held_out_nats_per_token": trained.held_out_loss,
            "held_out_bits_per_byte": trained.held_out_bits_per_byte,
            "held_out_tokens": trained.held_out_tokens,
            "training_nats_per_token": trained.training_loss,
            "held_out_by_step": {step: round(loss, 4) for step, loss in trained.held_out_losses},
        },
        # Weights may differ in their last bits where these do
        "versions": {name: version(name) for name in LIBRARIES},
        "processor": torch.backends.cpu.get_cpu_capability(),
    }
