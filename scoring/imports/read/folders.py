"""Reads the folder of one published model. Plain Python: no database.

Row k of an array is row k of the test cases' file; a label says which column, A (0) or B (1), is the original.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from experiment.imports.read.tables import Problem
from scoring.domain.known_models import name_of
from scoring.imports.read.numbers import MAX_BYTES, MAX_ROWS, NumberFiles
from scoring.imports.read.results import Integers, PublishedCorpus, PublishedModel, PublishedScores

SOURCES = {"human_abstracts": "human", "llm_abstracts": "machine"}
SWAP = re.compile(r"swap_seed(0|[1-9][0-9]{0,8})")
MAX_NAME = 200
ANCHOR = "gettysburg_address"  # a text that every model has surely read


@dataclass(frozen=True, slots=True)
class Place:
    """Where a condition's files lie: a folder, and what their names end in."""

    folder: str
    source: str
    condition: Literal["full", "isolated", "swapped"]
    seed: int | None = None

    def file(self, name: str) -> str:
        suffix = "_iso" if self.condition == "isolated" else ""
        return f"{self.folder}/{name}{suffix}.npy"

    @property
    def ppl(self) -> str:
        return self.file("PPL_A_and_B")

    @property
    def labels(self) -> str:
        return self.file("labels")

    @property
    def mask(self) -> str:
        return self.file("abstract_mask")

    @property
    def zlib(self) -> str:
        return self.file("ZLIB_A_and_B")

    @property
    def needed(self) -> list[str]:
        return [self.ppl, self.labels, *([self.mask] if self.condition == "isolated" else [])]


def read_model(
    files: NumberFiles, parent: str, folder: str, absent: list[str]
) -> PublishedModel | None:
    """All that a model's folder holds; files that belong to others and are not there are named."""
    path = f"{parent}/{folder}"
    if not _is_name(files, path, folder):
        return None
    scores: list[PublishedScores] = []
    corpora: list[PublishedCorpus] = []
    for sub in subfolders(files.root / path):
        if sub in SOURCES:
            scores += _read_source(files, f"{path}/{sub}", SOURCES[sub], absent)
        elif corpus := _read_corpus(files, f"{path}/{sub}", sub, absent):
            corpora.append(corpus)
    return PublishedModel(folder, name_of(folder), scores, corpora)


def subfolders(path: Path) -> list[str]:
    return sorted(sub.name for sub in path.iterdir() if sub.is_dir())


def _is_name(files: NumberFiles, path: str, name: str) -> bool:
    """Half a byte sequence, or a control character, is none."""
    if name.isprintable() and len(name) <= MAX_NAME:
        return True
    message = f"a name has at most {MAX_NAME} characters, all printable"
    files.problems.append(Problem(ascii(path), message))
    return False


def _read_source(
    files: NumberFiles, path: str, source: str, absent: list[str]
) -> list[PublishedScores]:
    places = [Place(path, source, "full"), Place(path, source, "isolated")]
    for sub in subfolders(files.root / path):
        if swap := SWAP.fullmatch(sub):
            places.append(Place(f"{path}/{sub}", source, "swapped", int(swap[1])))
    scores = []
    for place in places:
        missing = [name for name in place.needed if not files.has(name)]
        if not missing:
            scores.append(_read_scores(files, place))
        elif len(missing) < len(place.needed) or place.condition != "isolated":
            # Many models have no isolated sentences, which is no gap; half of them is
            absent += missing
    return [read for read in scores if read is not None]


def _read_scores(files: NumberFiles, place: Place) -> PublishedScores | None:
    before = len(files.problems)
    ppl = files.perplexities(place.ppl, pairs=True)
    labels = files.integers(place.labels, 0, 1, "0 (A is the original) or 1 (B)")
    read = {place.labels: labels}
    rows = None if ppl is None else np.arange(len(ppl))
    if place.condition == "isolated":
        rows = files.integers(place.mask, 0, MAX_ROWS, "a row of the test cases")
        read[place.mask] = rows
    zlib_bytes = None
    if files.has(place.zlib):
        zlib_bytes = files.integers(place.zlib, 1, MAX_BYTES, "a length in bytes", pairs=True)
        read[place.zlib] = zlib_bytes
    for name, values in read.items():
        files.check_length(name, values, place.ppl, ppl)
    if len(files.problems) > before or ppl is None or labels is None or rows is None:
        return None
    return PublishedScores(
        folder=place.folder,
        source=place.source,
        condition=place.condition,
        seed=place.seed,
        ppl=ppl,
        labels=labels,
        rows=rows,
        units=_units(rows),
        zlib_bytes=zlib_bytes,
        files=files.facts_of(place.ppl, *read),
        rows_file=place.mask if place.condition == "isolated" else place.ppl,
    )


def _units(rows: Integers) -> Integers:
    """How many of the rows before each one are about the same test case.

    >>> _units(np.array([0, 0, 1, 0])).tolist()
    [0, 1, 0, 2]
    """
    seen: Counter[int] = Counter()
    units = []
    for row in rows.tolist():
        units.append(seen[row])
        seen[row] += 1
    return np.array(units, dtype=np.int64)


def _read_corpus(
    files: NumberFiles, path: str, name: str, absent: list[str]
) -> PublishedCorpus | None:
    ppl_file, zlib_file = f"{path}/PPL.npy", f"{path}/ZLIB.npy"
    missing = [file for file in (ppl_file, zlib_file) if not files.has(file)]
    if missing:
        absent += missing if len(missing) == 1 else []
        return None
    if not _is_name(files, path, name):
        return None
    before = len(files.problems)
    ppl = files.perplexities(ppl_file, pairs=False)
    zlib_bytes = files.integers(zlib_file, 1, MAX_BYTES, "a length in bytes")
    files.check_length(zlib_file, zlib_bytes, ppl_file, ppl)
    if len(files.problems) > before or ppl is None or zlib_bytes is None:
        return None
    return PublishedCorpus(path, name, ppl, zlib_bytes, files.facts_of(ppl_file, zlib_file))
