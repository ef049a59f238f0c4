"""What decides a training, besides the corpus and the model that it starts from; the presets. Pure.

A step's tokens are rows on a device x accumulation x devices x tokens of a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Shape:
    """A GPT-2-shaped model to train from scratch."""

    layers: int
    heads: int
    width: int
    vocabulary: int


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

    @property
    def tokens_per_step(self) -> int:
        return self.batch_rows * self.accumulation * self.devices * self.context


def of_recipe(recipe: Mapping[str, Any]) -> TrainingSettings:
    """The settings that `dataclasses.asdict` wrote, as the database gives them back."""
    lora, shape = recipe.get("lora"), recipe.get("shape")
    parts = {
        "lora": lora and Lora(**(lora | {"targets": tuple(lora["targets"])})),
        "shape": shape and Shape(**shape),
    }
    return TrainingSettings(**(dict(recipe) | parts))


PRESETS: Mapping[str, TrainingSettings] = {}
