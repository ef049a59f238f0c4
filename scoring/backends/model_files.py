"""Whether a folder's model was copied whole, and is no larger than a model's files are: before a library reads it.

Loads no library. Links are followed, as the Hub's cache is made of them.
"""

import json
import stat
from pathlib import Path
from typing import Any

from lib.files import read_regular
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
            _check_shards(folder, index)
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
        raise ScoringError(f"{path} is no regular file.")
    most = LIMITS.get(ending)
    if most is not None and about.st_size > most:
        raise ScoringError(
            f"{path} has more than {most // MEGABYTE} MB: that is no file of a language model."
        )


def _check_shards(folder: Path, index: Path) -> None:
    try:
        weights = json.loads(read_regular(index, LIMITS[".json"]))["weight_map"]
        shards = sorted({str(name) for name in weights.values()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ScoringError(f"{index} is damaged: it does not say where the weights are.") from error
    for shard in shards:
        if shard != Path(shard).name:
            raise ScoringError(f"{index} names weights outside its folder.")
        if not (folder / shard).is_file():
            raise ScoringError(
                f"{folder / shard} is not there, though {index.name} names it: copy the model again."
            )


def _check_weights(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH), "little")
        if length > LONGEST_HEADER:
            raise ScoringError(
                f"{path} is no safetensors file, or its header has more than {LONGEST_HEADER // MEGABYTE} MB."
            )
        header = file.read(length)
    if size < LENGTH + length or not length:
        what = "it ends within its header" if size else "it is empty"
        raise ScoringError(f"{path} is not whole: {what}. Copy the model again.")
    wanted = LENGTH + length + _announced(path, header)
    if size != wanted:
        raise ScoringError(
            f"{path} is not whole: it has {size:,} bytes, and its header tells of {wanted:,}. Copy the model again."
        )


def _announced(path: Path, header: bytes) -> int:
    """How many bytes of numbers follow the header."""
    try:
        tensors: dict[str, Any] = json.loads(header)
        ends = [int(t["data_offsets"][1]) for n, t in tensors.items() if n != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ScoringError(f"{path} is damaged: its header cannot be read.") from error
    return max(ends, default=0)
