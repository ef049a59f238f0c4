"""Reads the published results of language models, a directory's `model_results/`, and names every row that cannot be meant.

Row k of an array is row k of the test cases' file; a label says which column, A (0) or B (1), is the original.

Each model has a folder, `org--name`. In it are `human_abstracts/` and `llm_abstracts/`, the test cases by who created
them, and a folder for each reference corpus.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from experiment.imports.read.brainbench import ENDINGS
from experiment.imports.read.tables import Problem, read_array
from lib.folders import strays
from scoring.domain.known_models import MODELS, folder_of, name_of
from scoring.imports.read.results import (
    FileFacts,
    Floats,
    Integers,
    PublishedCorpus,
    PublishedModel,
    PublishedResults,
    PublishedScores,
)

Numbers = npt.NDArray[Any]

MAX_ROWS = 1_000_000
MAX_BYTES = 2**31 - 1  # what the database's column holds


@dataclass
class NumberFiles:
    """Reads files under `root`; what is wrong with them is added to `problems`."""

    root: Path
    problems: list[Problem]
    tried: set[str] = field(default_factory=set)
    _facts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return (self.root / name).is_file()

    def facts_of(self, *names: str) -> FileFacts:
        return {name: self._facts[name] for name in names}

    def perplexities(self, name: str, *, pairs: bool) -> Floats | None:
        """Finite and positive numbers, (n, 2) of A and B or (n,)."""
        values = self._read(name, "f", "perplexities", pairs=pairs)
        if values is None:
            return None
        with np.errstate(over="ignore"):  # what overflows is infinite, and named below
            numbers = values.astype(np.float64)
        wrong = ~(np.isfinite(numbers) & (numbers > 0))
        return numbers if self._all_right(name, numbers, wrong, "a perplexity") else None

    def integers(
        self, name: str, low: int, high: int, meaning: str, *, pairs: bool = False
    ) -> Integers | None:
        """Whole numbers from `low` to `high`, (n, 2) of A and B or (n,)."""
        values = self._read(name, "iu", "whole numbers", pairs=pairs)
        if values is None:
            return None
        wrong = (values < low) | (values > high)
        return values.astype(np.int64) if self._all_right(name, values, wrong, meaning) else None

    def check_length(
        self, name: str, values: Numbers | None, other: str, others: Numbers | None
    ) -> None:
        """A file has as many rows as the one that it goes with, if both could be read."""
        if values is not None and others is not None and len(values) != len(others):
            message = f"has {len(values)} rows, but {other} has {len(others)}"
            self.problems.append(Problem(name, message))

    def _read(self, name: str, kinds: str, what: str, *, pairs: bool) -> Numbers | None:
        self.tried.add(name)
        file = read_array(self.root, name, self.problems)
        if file is None:
            return None
        values = file.values
        self._facts[name] = {
            "sha256": file.sha256,
            "shape": list(values.shape),
            "dtype": str(values.dtype),
        }
        if values.dtype.kind not in kinds:
            self.problems.append(Problem(name, f"contains {values.dtype}, not {what}"))
        elif values.shape[1:] != ((2,) if pairs else ()) or values.ndim == 0:
            wanted = "(n, 2)" if pairs else "(n,)"
            self.problems.append(Problem(name, f"has the shape {values.shape}, not {wanted}"))
        elif not 0 < len(values) <= MAX_ROWS:
            self.problems.append(Problem(name, f"has {len(values)} rows"))
        else:
            return values
        return None

    def _all_right(
        self, name: str, values: Numbers, wrong: npt.NDArray[np.bool_], meaning: str
    ) -> bool:
        for row in np.unique(np.argwhere(wrong)[:, 0]).tolist():
            cells = np.atleast_1d(values[row])[np.atleast_1d(wrong[row])].tolist()
            shown = " and ".join(str(cell) for cell in cells)
            self.problems.append(Problem(name, f"{shown} is not {meaning}", row=row))
        return not wrong.any()


SOURCES = {"human_abstracts": "human", "llm_abstracts": "machine"}
SWAP = re.compile(r"swap_seed(0|[1-9][0-9]{0,8})")
MAX_NAME = 200
ANCHOR = "gettysburg_address"  # a text that every model has surely read


@dataclass(frozen=True, slots=True)
class Place:
    """Where a condition's files lie: a folder, and what their names end in; `needed` of them must be there."""

    folder: str
    source: str
    condition: Literal["full", "isolated", "swapped"]
    seed: int | None = None

    def file(self, name: str) -> str:
        suffix = "_iso" if self.condition == "isolated" else ""
        return f"{self.folder}/{name}{suffix}.npy"

    @property
    def needed(self) -> list[str]:
        rows = ["abstract_mask"] if self.condition == "isolated" else []
        return [self.file(name) for name in ("PPL_A_and_B", "labels", *rows)]


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
    message = f"a name must have at most {MAX_NAME} characters, all printable"
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
    ppl_file, labels_file, *masks = place.needed
    zlib_file = place.file("ZLIB_A_and_B")
    ppl = files.perplexities(ppl_file, pairs=True)
    labels = files.integers(labels_file, 0, 1, "0 (A is the original) or 1 (B)")
    read = {labels_file: labels}
    rows = None if ppl is None else np.arange(len(ppl))
    for mask_file in masks:
        read[mask_file] = rows = files.integers(mask_file, 0, MAX_ROWS, "a row of the test cases")
    zlib_bytes = None
    if files.has(zlib_file):
        zlib_bytes = files.integers(zlib_file, 1, MAX_BYTES, "a length in bytes", pairs=True)
        read[zlib_file] = zlib_bytes
    for name, values in read.items():
        files.check_length(name, values, ppl_file, ppl)
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
        files=files.facts_of(ppl_file, *read),
        rows_file=(masks or [ppl_file])[0],
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


FOLDER = "model_results"
MAX_UNKNOWN_NAMED = 10

# Published files that hold nothing to import, and why
_NORMALIZED = (
    "a perplexity divided by the text's number of tokens, for the abstracts of another pass than "
    "the one whose perplexities were published"
)
IGNORED = {
    "PPL_A_and_B_normalized.npy": _NORMALIZED,
    "PPL_normalized.npy": _NORMALIZED,
    "labels_machine_filter.npy": "it marks human-created test cases that also have a GPT-4-created version, which the DOIs show",
}


def read_results(root: Path) -> PublishedResults:
    """Read all that is there; what is absent is named, what is wrong is collected."""
    if wrong := [Problem(name, why) for name, why in strays(root, [FOLDER], ENDINGS)]:
        return PublishedResults(problems=wrong)
    if not (root / FOLDER).is_dir():
        return PublishedResults(absent=[f"{FOLDER}/"])
    problems, absent = list[Problem](), list[str]()
    files, known = NumberFiles(root, problems), list(map(folder_of, MODELS))
    try:
        found = subfolders(root / FOLDER)
        absent += [f"{FOLDER}/{folder}/" for folder in known if folder not in found]
        # The published ones in their own order, then others
        folders = [*(f for f in known if f in found), *(f for f in found if f not in known)]
        models = [read_model(files, FOLDER, folder, absent) for folder in folders]
        for source in SOURCES:
            if not any((root / FOLDER / folder / source).is_dir() for folder in found):
                absent.append(f"{FOLDER}/*/{source}/")
        notes = list(_unread(files))
    except OSError as error:
        problems.append(Problem(FOLDER, f"cannot be read: {error.strerror or error}"))
        return PublishedResults(problems=problems)
    return PublishedResults([model for model in models if model], absent, notes, problems)


def _unread(files: NumberFiles) -> Iterator[str]:
    """Notes on the files that were left alone."""
    paths = sorted(path for path in (files.root / FOLDER).rglob("*") if path.is_file())
    ignored = Counter(path.name for path in paths)
    for name, why in IGNORED.items():
        if ignored[name]:
            yield f"{FOLDER}: {ignored[name]} files {name} were not read: {why}."
    names = [path.relative_to(files.root).as_posix() for path in paths if path.name not in IGNORED]
    unknown = [name for name in names if name not in files.tried]
    if unknown:
        listed = [name if name.isprintable() else ascii(name) for name in unknown]
        if len(listed) > MAX_UNKNOWN_NAMED:
            listed[MAX_UNKNOWN_NAMED:] = [f"{len(listed) - MAX_UNKNOWN_NAMED} more"]
        yield f"{FOLDER}: not needed by the import, and not read: {', '.join(listed)}."
