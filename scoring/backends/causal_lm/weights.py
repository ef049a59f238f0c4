"""Which files a model is loaded from, and their hash. Only safetensors: other formats can run code when they are read."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from scoring.backends.model_files import check_files
from scoring.domain.backend import ScoringError

# As peft names them
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model"
UNSAFE = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
CIRCUMSTANCES = frozenset(
    {"_name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype", "base_model_name_or_path",
     "revision", "peft_version", "inference_mode"}
)  # fmt: skip


def check_folder(folder: Path, what: str = "model") -> None:
    """Refuse a folder without safetensors weights, or with files that were copied in part.

    Args:
        what: model or adapter.
    Raises:
        ScoringError: in words that say what to do.
    """
    files = [path for path in folder.iterdir() if path.is_file()]
    check_files(folder)
    if weight_files(folder, what):
        return
    if what == "model" and (folder / ADAPTER_CONFIG).is_file() and weight_files(folder, "adapter"):
        raise ScoringError(
            f"{folder} holds an adapter and no model: name its model as pretrained=…, and this folder as peft={folder}."
        )
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


def weight_files(folder: Path, what: str = "model") -> list[Path]:
    """The safetensors files of a folder's model, of the adapter in it, or all, in the order of their names."""
    return [
        path
        for path in sorted(folder.glob("*.safetensors"))
        if what == "all" or path.name.startswith(ADAPTER_WEIGHTS) == (what == "adapter")
    ]


def refuse_adapter(folder: Path, how: str) -> None:
    """Refuse an adapter beside full weights: the libraries would apply it unasked.

    Raises:
        ScoringError: there is one; `how` says how to go on.
    """
    if (folder / ADAPTER_CONFIG).exists():
        raise ScoringError(
            f"{folder} holds an adapter ({ADAPTER_CONFIG}) beside full weights: {how}."
        )


def weights_sha256(folder: Path, what: str = "model") -> str:
    """SHA-256 over the names and contents of the files of a folder's model, or of its adapter, in the order of names."""
    digest = hashlib.sha256()
    for path in weight_files(folder, what):
        digest.update(f"{path.name}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").hexdigest().encode())
    return digest.hexdigest()


def adapter_tensors(folder: Path) -> set[str]:
    """The names of all tensors of the adapter in a folder."""
    names: set[str] = set()
    for path in weight_files(folder, "adapter"):
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
