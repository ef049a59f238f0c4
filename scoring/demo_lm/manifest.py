"""What the demonstration model's folder holds, by hash: written after training, checked before the model is used."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.domain.backend import ScoringError

MANIFEST = "manifest.json"
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
REMEDY = (
    "restore the folder from the repository, or make the model again with `manage.py train_demo_lm`"
)


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write the facts, with size and hash of every file, beside the files; no date, so that it is reproducible."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
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
            found = sha256(folder / name)
        except OSError as error:
            raise ScoringError(
                f"The demonstration model's {name} cannot be read: {REMEDY}."
            ) from error
        if found != expected:
            raise ScoringError(
                f"The demonstration model's {name} is not the file that its manifest describes: {REMEDY}."
            )
    return manifest


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
