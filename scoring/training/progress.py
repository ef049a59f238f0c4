"""What a training tells while it goes on. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Point:
    """After an optimiser step; losses are nats per token, means over tokens."""

    step: int
    steps: int
    tokens: int  # seen so far
    loss: float | None  # of training, since the last point
    held_out_loss: float | None  # where it was measured
    learning_rate: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of a training; losses are nats per token, means over tokens."""

    steps: int
    tokens: int  # seen, over all epochs
    best_step: int  # whose weights were written
    held_out_loss: float  # of the best step
    untrained_held_out_loss: float
    trainable_parameters: int
    parameters: int
    versions: Mapping[str, str]
    files: Mapping[str, str]  # of the model that was written: name -> SHA-256
    rows: int = 0  # to learn from, in each epoch
    tokens_left_out: int = 0  # that did not fill a last row
    held_out_tokens: int = 0


def kept_folder(folder: Path, step: int) -> Path:
    """Where a training keeps the weights of a step that was asked for: an adapter, or a model with its tokenizer."""
    return folder / f"step-{step:06d}"
