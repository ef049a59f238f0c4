"""Use case: texts are collected under a corpus's name, in one form, before it is built."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.text import slugify

from lib.files import atomic_file
from scoring.models import Corpus
from scoring.training.corpus.document import CorpusError, to_line
from scoring.training.corpus.read.local import Problems, Reading, local_files, read_file

ENDING = ".sources"  # a corpus's name has no full stop


@dataclass(frozen=True, slots=True)
class Added:
    """What came of one path."""

    path: str
    name: str  # of the file that its documents are kept in
    documents: int
    was_there: bool  # the same documents had been added before
    skipped: Sequence[str]  # files of other kinds
    n_no_dates: int  # documents whose date is none, and was left off
    no_dates: Sequence[str]  # the first of them, by file and line


def sources_folder(name: str) -> Path:
    """Raises ValidationError: no corpus can have that name."""
    Corpus(slug=name).clean_fields(exclude=["sha256", "manifest"])
    return Path(settings.CORPORA_DIR) / f"{name}{ENDING}"


def sources_of(name: str) -> list[Path]:
    return sorted(sources_folder(name).glob("*.jsonl"))


def collected() -> list[str]:
    """Names that texts were collected under."""
    return sorted(path.stem for path in Path(settings.CORPORA_DIR).glob(f"*{ENDING}"))


def add_source(name: str, path: Path, reading: Reading, on_done: Callable[[int], None]) -> Added:
    """Read a file or folder and keep its documents, all or none; `on_done` hears of documents.

    Raises:
        CorpusError: something in it cannot be read, by file and line, or it holds no document.
        ValidationError: no corpus can have that name.
    """
    folder = sources_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    problems, skipped, digest, n = Problems(), list[str](), hashlib.sha256(), 0
    draft = folder / f"adding.{os.getpid()}"
    with atomic_file(draft) as file:
        for local in local_files(path, problems, skipped):
            for document in read_file(local, reading, problems):
                line = to_line(document).encode() + b"\n"
                file.write(line)
                digest.update(line)
                n += 1
                on_done(n)
        problems.refuse()
        if not n:
            raise CorpusError(f"{path} holds no text.")
    kept = folder / f"{slugify(path.resolve().stem) or 'texts'}-{digest.hexdigest()[:12]}.jsonl"
    was_there = kept.exists()
    draft.replace(kept)
    return Added(
        str(path), kept.name, n, was_there, skipped, problems.n_no_dates, problems.no_dates
    )
