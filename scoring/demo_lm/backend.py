"""Scores with the demonstration model that ships with this project, once its files are found to be the shipped ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.demo_lm import MODEL_FOLDER, NAME
from scoring.demo_lm.manifest import verify


class EmbeddedBackend(TransformersBackend):
    """The transformers backend, with the demonstration model in it."""

    kind = "embedded"

    def __init__(self, args: Mapping[str, str], folder: Path = MODEL_FOLDER) -> None:
        self.label = verify(folder)["label"]
        super().__init__({**args, "pretrained": str(folder)})

    def identity(self) -> dict[str, Any]:
        """The model's name in place of where it happens to be installed."""
        return {**super().identity(), "model": NAME, "label": self.label}
