"""The demonstration model that ships with this project, to score and to write with, once its files are found to be the shipped ones."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lib.files import sha256_of
from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.generator import TransformersGenerator
from scoring.demo_lm import MODEL_FOLDER, NAME
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Message

MANIFEST = "manifest.json"
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
REMEDY = (
    "restore the folder from the repository, or make the model again with `manage.py train_demo_lm`"
)


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write the facts, with size and hash of every file, beside the files; no date, so that it is reproducible."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)}
        for name in FILES
    }
    manifest = {**facts, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest


def verify(folder: Path) -> dict[str, Any]:
    """The manifest, once every file has been found to be the one that it describes.

    Raises:
        ScoringError: a file is missing or another one, or the manifest cannot be read.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        described = {name: str(manifest["files"][name]["sha256"]) for name in FILES}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScoringError(
            f"The demonstration model has no readable {MANIFEST}: {REMEDY}."
        ) from error
    for name, expected in described.items():
        try:
            found = sha256_of(folder / name)
        except OSError as error:
            raise ScoringError(
                f"The demonstration model's {name} cannot be read: {REMEDY}."
            ) from error
        if found != expected:
            raise ScoringError(
                f"The demonstration model's {name} is not the file that its manifest describes: {REMEDY}."
            )
    return manifest


class EmbeddedBackend(TransformersBackend):
    """The transformers backend, with the demonstration model in it."""

    kind = "embedded"

    def __init__(self, args: Mapping[str, str], folder: Path = MODEL_FOLDER) -> None:
        self.label = verify(folder)["label"]
        super().__init__({**args, "pretrained": str(folder)})

    def identity(self) -> dict[str, Any]:
        """The model's name in place of where it happens to be installed."""
        return {**super().identity(), "model": NAME, "label": self.label}


MOST_TOKENS = 64


class EmbeddedGenerator(TransformersGenerator):
    """Goes on after the messages' last words, as many as fit: it has no chat template and a small window."""

    kind = "embedded"

    def __init__(self, args: Mapping[str, str]) -> None:
        verify(MODEL_FOLDER)
        super().__init__({"max_tokens": str(MOST_TOKENS), **args, "pretrained": str(MODEL_FOLDER)})

    def check_template(self) -> None:
        """It has none, and does without."""

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "model": NAME}

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        text = "\n\n".join(message.content for message in messages)
        ids = [int(i) for i in self.tokenizer(text)["input_ids"]]
        room = (self.window or len(ids) + self.max_tokens) - self.max_tokens
        return ids[-max(room, 1) :]
