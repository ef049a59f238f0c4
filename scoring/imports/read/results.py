"""What the published results of language models come to, once read. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from experiment.imports.read.tables import Problem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
# Relative name of a file -> its sha256, shape and dtype
FileFacts = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PublishedScores:
    """One model on the test cases of one source under one condition; n pairs of texts."""

    folder: str  # relative, as problems name it
    source: str
    condition: str
    seed: int | None
    ppl: Floats  # (n, 2) of A and B
    labels: Integers  # (n,) the column of the original
    rows: Integers  # (n,) of the test cases' file, from 0
    units: Integers  # (n,) the published sentences of an abstract, from 0
    zlib_bytes: Integers | None  # (n, 2) of A and B
    files: FileFacts
    rows_file: str  # where the rows are from

    def original(self, values: npt.NDArray[Any]) -> list[Any]:
        """Of an (n, 2) array, what belongs to the original."""
        return list(values[np.arange(len(values)), self.labels].tolist())

    def altered(self, values: npt.NDArray[Any]) -> list[Any]:
        return list(values[np.arange(len(values)), 1 - self.labels].tolist())


@dataclass(frozen=True, slots=True)
class PublishedCorpus:
    """One model on the n texts of a reference corpus."""

    folder: str
    corpus: str
    ppl: Floats  # (n,)
    zlib_bytes: Integers  # (n,)
    files: FileFacts


@dataclass(frozen=True, slots=True)
class PublishedModel:
    folder: str
    name: str
    scores: Sequence[PublishedScores]
    corpora: Sequence[PublishedCorpus]


@dataclass(frozen=True)
class PublishedResults:
    """What a directory holds of models. Nothing of it is to be stored while `problems` is not empty."""

    models: Sequence[PublishedModel] = ()
    absent: Sequence[str] = ()
    notes: Sequence[str] = ()
    problems: list[Problem] = field(default_factory=list)
