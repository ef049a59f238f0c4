"""The content of a built corpus, by hash: written last when it is built, checked before it is trained on.

A corpus is a folder: Parquet shards of the training part and of the held-out part, the list of what was left out and
why, and the manifest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from lib.code import release
from lib.files import sha256_of, write_file
from scoring.training.corpus.document import CorpusError

MANIFEST = "manifest.json"
EXCLUDED = "excluded.jsonl"
UNKNOWN = "unknown"
FORMAT, VERSION = "brainbench-live-corpus", 1
Part = Literal["train", "held_out"]
SHARD = "{part}-{number:05d}.parquet"


@dataclass(frozen=True)
class File:
    """A file of the folder."""

    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Excluded:
    """A document that was left out: a line of the list."""

    id: str
    title: str
    reason: str
    of: str = ""  # of a copy, the document kept; of a test case's text, its key


@dataclass(frozen=True)
class PartFacts:
    """One part of the split."""

    documents: int = 0
    words: int = 0
    tokens: int = 0
    characters: int = 0


@dataclass(frozen=True)
class Manifest:
    """How a corpus was made and what is in it. All but its name and time is the corpus's identity, by hash."""

    name: str
    seed: int
    holdout: float
    created: str  # ISO 8601 with offset
    tokenizer: str  # what tokens were counted with
    rules: Mapping[str, float] = field(default_factory=dict)  # thresholds of what is left out
    languages: Sequence[str] = ()  # of the texts that were taken; none: all
    test_cases: str = ""  # fingerprint of the test cases that were looked for
    sources: Mapping[str, File] = field(
        default_factory=dict
    )  # as `corpus add` and `fetch` wrote them
    files: Mapping[str, File] = field(default_factory=dict)
    train: PartFacts = field(default_factory=PartFacts)
    held_out: PartFacts = field(default_factory=PartFacts)
    excluded: Mapping[str, int] = field(default_factory=dict)  # reason -> documents
    years: Mapping[str, int] = field(default_factory=dict)
    licences: Mapping[str, int] = field(default_factory=dict)
    journals: Mapping[str, int] = field(default_factory=dict)
    first_published: str = ""
    last_published: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def undated(self) -> int:
        """Documents whose day of publication may be any."""
        return self.years.get(UNKNOWN, 0)


@dataclass(frozen=True, slots=True)
class BuiltCorpus:
    """A corpus as it lies in its folder."""

    folder: Path
    manifest: Manifest
    sha256: str  # its identity

    def rows(self, part: Part, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """These columns of one part, in the order of its shards; one row group in memory at a time."""
        for name in sorted(self.manifest.files):
            if name.startswith(f"{part}-"):
                with pq.ParquetFile(self.folder / name) as file:
                    for group in range(file.num_row_groups):
                        table = file.read_row_group(group, columns=list(columns))
                        yield from zip(
                            *(table[column].to_pylist() for column in columns), strict=True
                        )

    def texts(self, part: Part) -> Iterator[str]:
        """The texts of one part."""
        return (text for (text,) in self.rows(part, ["text"]))

    def excluded(self) -> Iterator[Excluded]:
        """Documents that were left out, by id."""
        with (self.folder / EXCLUDED).open(encoding="utf-8") as file:
            for line in file:
                yield Excluded(**json.loads(line))

    def check(self) -> None:
        """See that each file is the one that the manifest describes.

        Raises:
            CorpusError: one is missing or was changed.
        """
        for name, facts in self.manifest.files.items():
            path = self.folder / name
            if not path.is_file():
                raise CorpusError(f"The corpus {self.manifest.name} lacks its file {name}.")
            if sha256_of(path) != facts.sha256:
                raise CorpusError(
                    f"The corpus {self.manifest.name}: {name} has changed since it was built."
                )


def write_manifest(folder: Path, manifest: Manifest) -> str:
    """Write it whole or not at all; return the corpus's identity."""
    about = {"format": FORMAT, "version": VERSION, "release": release(), **asdict(manifest)}
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    write_file(folder / MANIFEST, text)
    return _identity(about)


def _identity(about: Mapping[str, Any]) -> str:
    """The same for the same corpus, whenever it was built, by whichever release, and however it is called."""
    passing = ("release", "name", "created")
    lasting = {name: value for name, value in about.items() if name not in passing}
    return hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()


def open_corpus(folder: Path) -> BuiltCorpus:
    """Read the manifest of a folder; `check` compares the files.

    Raises:
        CorpusError: no corpus was built there.
    """
    path = folder / MANIFEST
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        identity = _identity(found)
        if (found.pop("format"), found.pop("version")) != (FORMAT, VERSION):
            raise ValueError("another format")
        found.pop("release", None)
        files, sources = (
            {name: File(**facts) for name, facts in found.pop(kind).items()}
            for kind in ("files", "sources")
        )
        train, held_out = (PartFacts(**found.pop(name)) for name in ("train", "held_out"))
        manifest = Manifest(**found, files=files, sources=sources, train=train, held_out=held_out)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(
            f"{folder} does not contain a corpus that was built on this site ({error})."
        ) from error
    return BuiltCorpus(folder, manifest, identity)
