"""The files that a model is loaded from: whether they were copied whole, and their hash, before a library reads them.

Only safetensors: other formats can run code when they are read. Links are followed, as the Hub's cache is made of them.
"""

import hashlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lib.files import read_regular, sha256_of
from scoring.domain.backend import ScoringError

MEGABYTE = 2**20
LONGEST_HEADER = 20 * MEGABYTE  # of a safetensors file; 100,000 tensors take about half of it
# By the ends of names, the first that fits; the largest tokenizers published have 40 MB
LIMITS = {
    "chat_template.jinja": 4 * MEGABYTE,
    "chat_template.json": 4 * MEGABYTE,
    ".jinja": 4 * MEGABYTE,
    "config.json": 10 * MEGABYTE,  # adapter_config.json, generation_config.json and others too
    ".json": 100 * MEGABYTE,
    ".txt": 100 * MEGABYTE,
    ".model": 100 * MEGABYTE,
}
INDEX = ".safetensors.index.json"
SINGLE = "model.safetensors"  # which transformers reads rather than what an index names
LENGTH = 8  # bytes that say how long the header is


def check_files(folder: Path) -> None:
    """Refuse files that are too large, half written, or not there though others name them.

    Raises:
        ScoringError: one sentence that names the file.
    """
    try:
        for path in sorted(folder.glob("*/*.jinja")) + sorted(folder.iterdir()):
            _check_size(path)
        for index in sorted(folder.glob(f"*{INDEX}")):
            for shard in _shards(index):
                if shard != Path(shard).name:
                    raise ScoringError(f"{index} names weights outside its folder.")
                if not (folder / shard).is_file():
                    raise ScoringError(
                        f"{folder / shard} is missing, although {index.name} names it. Copy the model again."
                    )
        for path in sorted(folder.glob("*.safetensors")):
            _check_weights(path)
    except OSError as error:
        raise ScoringError(
            f"{error.filename or folder} cannot be read: {error.strerror or error}."
        ) from error


def _check_size(path: Path) -> None:
    if path.is_dir():
        return
    known = (*LIMITS, ".safetensors")
    if (ending := next((end for end in known if path.name.endswith(end)), None)) is None:
        return
    about = path.stat()  # a link to nowhere says that there is no such file
    if not stat.S_ISREG(about.st_mode):
        raise ScoringError(f"{path} is not a regular file.")
    most = LIMITS.get(ending)
    if most is not None and about.st_size > most:
        raise ScoringError(
            f"{path} has more than {most // MEGABYTE} MB, so it is not a file of a language model."
        )


def _shards(index: Path) -> list[str]:
    try:
        weights = json.loads(read_regular(index, LIMITS[".json"]))["weight_map"]
        return sorted({str(name) for name in weights.values()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ScoringError(
            f"{index} is damaged: it does not name the files of the weights."
        ) from error


def _check_weights(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH), "little")
        if length > LONGEST_HEADER:
            raise ScoringError(
                f"{path} is not a safetensors file, or its header has more than {LONGEST_HEADER // MEGABYTE} MB."
            )
        header = file.read(length)
    if size < LENGTH + length or not length:
        what = "it ends within its header" if size else "it is empty"
        raise ScoringError(f"{path} is incomplete: {what}. Copy the model again.")
    try:  # how many bytes of numbers follow the header
        tensors: dict[str, Any] = json.loads(header)
        ends = [int(t["data_offsets"][1]) for n, t in tensors.items() if n != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ScoringError(f"{path} is damaged: its header cannot be read.") from error
    wanted = LENGTH + length + max(ends, default=0)
    if size != wanted:
        raise ScoringError(
            f"{path} is incomplete: it has {size:,} bytes, but its header states {wanted:,}. Copy the model again."
        )


# As peft names them
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model"
UNSAFE = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
CIRCUMSTANCES = frozenset(
    {"_name_or_path", "_commit_hash", "transformers_version", "dtype", "torch_dtype", "base_model_name_or_path",
     "revision", "peft_version", "inference_mode"}
)  # fmt: skip


def check_folder(folder: Path, what: str = "model") -> None:
    """Refuse a folder without safetensors weights, with two sets of them, or with files that were copied in part.

    Args:
        what: model or adapter.
    Raises:
        ScoringError: in words that say what to do.
    """
    files = [path for path in folder.iterdir() if path.is_file()]
    check_files(folder)
    index = folder / f"model{INDEX}"
    has_both = what == "model" and (folder / SINGLE).is_file() and index.is_file()
    # Libraries choose differently between a file and those that an index names
    if has_both and SINGLE not in _shards(index):
        raise ScoringError(
            f"{folder} contains two sets of weights: {SINGLE}, and those that {index.name} names. Move one of them out of "
            "the folder."
        )
    if weight_files(folder, what):
        return
    if what == "model" and (folder / ADAPTER_CONFIG).is_file() and weight_files(folder, "adapter"):
        raise ScoringError(
            f"{folder} contains an adapter without a model. Name its model as pretrained=…, and this folder as "
            f"peft={folder}."
        )
    unsafe = sorted(path.name for path in files if path.suffix in UNSAFE)
    if unsafe:
        raise ScoringError(
            f"{folder} stores its weights as {unsafe[0]}, a format that can run code when it is read. If you trust it, load "
            "it with transformers and save it again with save_pretrained(), which writes safetensors."
        )
    gguf = sorted(path.name for path in files if path.suffix == ".gguf")
    if gguf:
        raise ScoringError(
            f"{folder} contains {gguf[0]}. Serve it, and score it with --model completions."
        )
    raise ScoringError(f"{folder} does not contain {what} weights (*.safetensors).")


def weights_read(folder: Path) -> dict[str, list[str]]:
    """The files of weights that transformers reads where others lie beside them, for an identity; else nothing."""
    index = folder / f"model{INDEX}"
    is_single = (folder / SINGLE).is_file() or not index.is_file()
    names = [SINGLE] if is_single else _shards(index)
    return {"weights_read": names} if len(weight_files(folder)) > len(names) else {}


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
            f"{folder} contains an adapter ({ADAPTER_CONFIG}) and full weights: {how}."
        )


def weights_sha256(folder: Path, what: str = "model") -> str:
    """SHA-256 over the names and contents of the files of a folder's model, or of its adapter, in the order of names."""
    digest = hashlib.sha256()
    for path in weight_files(folder, what):
        digest.update(f"{path.name}\n".encode())
        digest.update(sha256_of(path).encode())
    return digest.hexdigest()


def adapter_shapes(folder: Path) -> dict[str, list[int]]:
    """The names and shapes of all tensors of the adapter in a folder."""
    from safetensors import safe_open  # not where pages are served

    shapes: dict[str, list[int]] = {}
    for path in weight_files(folder, "adapter"):
        with safe_open(path, framework="pt") as file:
            shapes |= {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 (no mapping)
    return shapes


def config_sha256(config: Mapping[str, Any]) -> str:
    """SHA-256 over all that a configuration says, except where it came from and by which release it was written."""
    described = {name: value for name, value in config.items() if name not in CIRCUMSTANCES}
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def has_custom_code(folder: Path) -> bool:
    """True if the configuration names Python files of its own to run."""
    try:
        return "auto_map" in json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        return False
