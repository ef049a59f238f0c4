"""Scores with the demonstration model that ships with this project, once its files are found to be the shipped ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.backends import WHICH_MODEL_ARGS
from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.demo_lm import MODEL_FOLDER, NAME
from scoring.demo_lm.manifest import verify
from scoring.domain.backend import ScoringError


class EmbeddedBackend(TransformersBackend):
    """The transformers backend, with the demonstration model in it."""

    kind = "embedded"

    def __init__(self, args: Mapping[str, str], folder: Path = MODEL_FOLDER) -> None:
        for name in WHICH_MODEL_ARGS:
            if name in args:
                raise ScoringError(
                    f"--model embedded takes no {name}: it is the model that ships with this project; "
                    "for another one use --model hf."
                )
        self.label = verify(folder)["label"]
        super().__init__({**args, "pretrained": str(folder)})

    def identity(self) -> dict[str, Any]:
        """The model's name in place of where it happens to be installed."""
        return {**super().identity(), "model": NAME, "label": self.label}
