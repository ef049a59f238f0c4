"""Settings that decide a training, besides the corpus and the model that it starts from; the presets. Pure.

A step's tokens are rows on a device x accumulation x devices x tokens of a row.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

Mode = Literal["lora", "full", "scratch"]
Packing = Literal["separated", "joined"]


class TrainingError(Exception):
    """Why a training cannot begin or go on: one sentence for the reader."""


@dataclass(frozen=True, slots=True)
class Lora:
    """An adapter: added to each named projection are two matrices of `rank`, their product times alpha / rank."""

    rank: int
    alpha: int
    dropout: float
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_positive(self, "rank", "alpha")
        if not 0 <= self.dropout < 1:
            raise TrainingError(f"dropout must be a share, not {self.dropout}.")
        if not self.targets:
            raise TrainingError("An adapter needs the names of the modules that it is added to.")


@dataclass(frozen=True, slots=True)
class Shape:
    """A GPT-2-shaped model to train from scratch."""

    layers: int
    heads: int
    width: int
    vocabulary: int

    def __post_init__(self) -> None:
        _check_positive(self, "layers", "heads", "width", "vocabulary")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    mode: Mode
    context: int  # tokens of a row
    epochs: float
    batch_rows: int  # on each device at a time
    accumulation: int
    devices: int
    learning_rate: float
    weight_decay: float
    warmup_share: float  # of all steps
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    clip_norm: float = 1.0
    packing: Packing = "separated"  # an end token between documents, or none
    dtype: Literal["float32", "bfloat16"] = "float32"
    gradient_checkpointing: bool = False
    seed: int = 1
    lora: Lora | None = None
    shape: Shape | None = None
    evaluations: int = 20  # of the held-out loss, over the whole training; at the end in any case
    limit: int | None = None  # documents of the training part, for a try

    def __post_init__(self) -> None:
        _check_positive(self, "context", "epochs", "batch_rows", "accumulation", "devices")
        _check_positive(self, "learning_rate", "evaluations")
        for name, end in (("weight_decay", math.inf), ("clip_norm", math.inf), ("seed", 2**32)):
            if not 0 <= (value := getattr(self, name)) < end:
                raise TrainingError(
                    f"{name} must be at least 0 and less than {end}, and is {value}."
                )
        if not 0 <= self.warmup_share < 1:
            raise TrainingError(
                f"warmup_share must be a share of all steps, not {self.warmup_share}."
            )
        if self.mode == "lora" and self.lora is None:
            raise TrainingError("mode lora needs an adapter's rank, alpha, dropout and targets.")
        if self.limit is not None and self.limit < 1:
            raise TrainingError(f"limit must be at least 1 document, and is {self.limit}.")

    @property
    def rows_per_step(self) -> int:
        return self.batch_rows * self.accumulation * self.devices

    @property
    def tokens_per_step(self) -> int:
        return self.rows_per_step * self.context

    def in_mode(self, mode: Mode) -> "TrainingSettings":
        """The same for another mode; what it has no use for is left out, so that equal trainings are equal."""
        return replace(
            self,
            mode=mode,
            lora=self.lora if mode == "lora" else None,
            shape=self.shape if mode == "scratch" else None,
        )


def _check_positive(settings: object, *names: str) -> None:
    for name in names:
        if not 0 < getattr(settings, name) < math.inf:
            raise TrainingError(f"{name} must be more than 0, and is {getattr(settings, name)}.")


def of_recipe(recipe: Mapping[str, Any]) -> TrainingSettings:
    """The settings that `dataclasses.asdict` wrote, as the database gives them back."""
    lora, shape = recipe.get("lora"), recipe.get("shape")
    parts = {
        "lora": lora and Lora(**(lora | {"targets": tuple(lora["targets"])})),
        "shape": shape and Shape(**shape),
    }
    return TrainingSettings(**(dict(recipe) | parts))


# What BrainGPT's authors trained with (reference: arXiv 2403.03230 and their published scripts)
_BRAINGPT = TrainingSettings(
    mode="lora",
    context=2048,
    epochs=2,
    batch_rows=1,
    accumulation=8,
    devices=4,
    learning_rate=2e-5,
    weight_decay=0.001,
    warmup_share=0.03,
    schedule="cosine",
    packing="joined",
    dtype="bfloat16",
    lora=Lora(
        rank=256,
        alpha=512,
        dropout=0.1,
        targets=("q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    ),
)


def _gpt2(batch_rows: int, layers: int, heads: int, width: int) -> TrainingSettings:
    return replace(
        _BRAINGPT,
        mode="scratch",
        context=1024,
        epochs=5,
        batch_rows=batch_rows,
        lora=None,
        shape=Shape(layers, heads, width, vocabulary=50257),
    )


PRESETS: Mapping[str, TrainingSettings] = {
    "braingpt-lora": _BRAINGPT,
    "gpt2-neuro": _gpt2(16, layers=12, heads=12, width=768),
    "gpt2-neuro-355m": _gpt2(8, layers=24, heads=16, width=1024),
    "gpt2-neuro-774m": _gpt2(4, layers=36, heads=20, width=1280),
    # Minutes on 2 cores; as an adapter, for models with GPT-2's layers
    "tiny": TrainingSettings(
        mode="scratch",
        context=256,
        epochs=4,
        batch_rows=2,
        accumulation=2,
        devices=1,
        learning_rate=1e-3,
        weight_decay=0.1,
        warmup_share=0.03,
        lora=Lora(rank=8, alpha=16, dropout=0.1, targets=("c_attn", "c_proj", "c_fc")),
        shape=Shape(layers=3, heads=4, width=128, vocabulary=2048),
        evaluations=10,
    ),
}


def of_preset(name: str, mode: Mode | None = None, **changes: Any) -> TrainingSettings:
    """A preset's settings in its own mode or another, with some of them changed.

    Raises:
        TrainingError: there is no such preset, or the settings do not go together.
    """
    if name not in PRESETS:
        raise TrainingError(f"There is no preset {name}. Choose from {', '.join(PRESETS)}.")
    settings = replace(PRESETS[name], **changes)
    return settings.in_mode(mode or settings.mode)


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
    """The outcome of a training; losses are nats per token, means over tokens."""

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
