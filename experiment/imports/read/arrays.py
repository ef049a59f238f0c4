"""Reads a published NumPy file, never a pickled one. Knows nothing of what the numbers mean."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from experiment.imports.read.tables import Problem
from lib.files import read_regular

# What NumPy raises at files that are damaged, cut short, pickled, or claim to be larger than memory
UNREADABLE = (
    *(OSError, ValueError, TypeError, EOFError, MemoryError, SyntaxError, TokenError),
    BadZipFile,
)


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An array and the file it came from."""

    name: str
    sha256: str
    values: npt.NDArray[Any]


def read_array(root: Path, name: str, problems: list[Problem]) -> ArrayFile | None:
    """The one array that a file holds; what keeps it from being read is added to `problems`."""
    try:
        data = read_regular(root / name)
        values = np.load(io.BytesIO(data), allow_pickle=False)
    except UNREADABLE as error:
        problems.append(Problem(name, f"cannot be read: {error}"))
        return None
    if not isinstance(values, np.ndarray):
        problems.append(Problem(name, "is an archive, not one array"))
        return None
    return ArrayFile(name, hashlib.sha256(data).hexdigest(), values)
