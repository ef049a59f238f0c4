"""Which files a model is loaded from, and their hash. Only safetensors: other formats can run code when they are read."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from scoring.backends.model_files import check_files
from scoring.domain.backend import ScoringError

UNSAFE = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
CIRCUMSTANCES = frozenset(
    {"_name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype", "base_model_name_or_path",
     "revision", "peft_version", "inference_mode"}
)  # fmt: skip


def check_folder(folder: Path, what: str = "model") -> None:
    """Refuse a folder without safetensors weights, or with files that were copied in part.

    Raises:
        ScoringError: in words that say what to do.
    """
    files = [path for path in folder.iterdir() if path.is_file()]
    check_files(folder)
    if any(path.suffix == ".safetensors" for path in files):
        return
    unsafe = sorted(path.name for path in files if path.suffix in UNSAFE)
    if unsafe:
        raise ScoringError(
            f"{folder} holds its weights as {unsafe[0]}, a format that can run code when it is read. Where you trust "
            "it, load it with transformers and save it again with save_pretrained(), which writes safetensors."
        )
    gguf = sorted(path.name for path in files if path.suffix == ".gguf")
    if gguf:
        raise ScoringError(
            f"{folder} holds {gguf[0]}: serve it, and score it with --model completions."
        )
    raise ScoringError(f"{folder} holds no {what} weights (*.safetensors).")


def weights_sha256(folder: Path) -> str:
    """SHA-256 over the names and contents of a folder's safetensors files, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(f"{path.name}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").hexdigest().encode())
    return digest.hexdigest()


def tensor_names(folder: Path) -> set[str]:
    """The names of all tensors in a folder's safetensors files."""
    names: set[str] = set()
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            names.update(file.keys())
    return names


def config_sha256(config: Mapping[str, Any]) -> str:
    """SHA-256 over all that a configuration says, except where it came from and by which release it was written."""
    described = {name: value for name, value in config.items() if name not in CIRCUMSTANCES}
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def has_custom_code(folder: Path) -> bool:
    """Whether the configuration names Python files of its own to run."""
    try:
        return "auto_map" in json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        return False
