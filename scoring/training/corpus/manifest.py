"""What a built corpus holds, by hash: written last when it is built, checked before it is trained on.

A corpus is a folder: Parquet shards of the training part and of the held-out part, the list of what was left out and
why, and the manifest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from scoring.training.corpus.document import CorpusError

MANIFEST = "manifest.json"
EXCLUDED = "excluded.jsonl"  # {id, title, reason, of}: of a near copy, the document kept; of a test case's text, its key
FORMAT, VERSION = "brainbench-live-corpus", 1
Part = Literal["train", "held_out"]
SHARD = "{part}-{number:05d}.parquet"


@dataclass(frozen=True)
class File:
    """A file of the folder."""

    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True)
class PartFacts:
    """One part of the split."""

    documents: int = 0
    words: int = 0
    tokens: int = 0
    characters: int = 0


@dataclass(frozen=True)
class Manifest:
    """How a corpus was made and what is in it; the hash of the file that it is written to is the corpus's identity."""

    name: str
    seed: int
    holdout: float
    created: str  # ISO 8601 with offset
    tokenizer: str  # what tokens were counted with
    sources: Mapping[str, int] = field(default_factory=dict)  # file or folder read -> documents
    files: Mapping[str, File] = field(default_factory=dict)
    train: PartFacts = field(default_factory=PartFacts)
    held_out: PartFacts = field(default_factory=PartFacts)
    # reason -> documents: "empty", "same DOI", "near copy", "test case: DOI", "test case: text"
    excluded: Mapping[str, int] = field(default_factory=dict)
    years: Mapping[str, int] = field(default_factory=dict)
    licences: Mapping[str, int] = field(default_factory=dict)
    journals: Mapping[str, int] = field(default_factory=dict)
    first_published: str = ""
    last_published: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuiltCorpus:
    """A corpus as it lies in its folder."""

    folder: Path
    manifest: Manifest
    sha256: str  # of the manifest's file

    def texts(self, part: Part) -> Iterator[str]:
        """The texts of one part, in the order of its shards; one row group in memory at a time."""
        for name in sorted(self.manifest.files):
            if name.startswith(f"{part}-"):
                file = pq.ParquetFile(self.folder / name)
                for batch in file.iter_batches(columns=["text"]):
                    yield from batch.column(0).to_pylist()

    def check(self) -> None:
        """See that each file is the one that the manifest describes.

        Raises:
            CorpusError: one is missing or was changed.
        """
        for name, facts in self.manifest.files.items():
            path = self.folder / name
            if not path.is_file():
                raise CorpusError(f"The corpus {self.manifest.name} lacks its file {name}.")
            if sha256(path) != facts.sha256:
                raise CorpusError(
                    f"The corpus {self.manifest.name}: {name} is not the file that was built."
                )


def write_manifest(folder: Path, manifest: Manifest) -> str:
    """Write it whole or not at all; return its SHA-256."""
    about = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    draft = folder / f".{MANIFEST}.part"
    draft.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(folder / MANIFEST)
    return sha256(folder / MANIFEST)


def open_corpus(folder: Path) -> BuiltCorpus:
    """Read the manifest of a folder; `check` compares the files.

    Raises:
        CorpusError: no corpus was built there.
    """
    path = folder / MANIFEST
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if (found.pop("format"), found.pop("version")) != (FORMAT, VERSION):
            raise ValueError("another format")
        files = {name: File(**facts) for name, facts in found.pop("files").items()}
        train, held_out = (PartFacts(**found.pop(name)) for name in ("train", "held_out"))
        manifest = Manifest(**found, files=files, train=train, held_out=held_out)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{folder} holds no corpus that was built here ({error}).") from error
    return BuiltCorpus(folder, manifest, sha256(path))


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
