"""Texts, documents and corpora for tests."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.demo_lm import MODEL_FOLDER
from scoring.training.corpus.building.build import Settings, build
from scoring.training.corpus.building.overlap import ItemTexts
from scoring.training.corpus.building.store import TokenCounter
from scoring.training.corpus.document import Document, write_documents
from scoring.training.corpus.manifest import BuiltCorpus


@lru_cache
def prose(seed: int, words: int = 60) -> str:
    """Sentences of ten made words; texts of two seeds have no run of them in common."""
    letters = random.Random(seed)
    made = ["".join(letters.choices("bdfgklmnprtvaeiou", k=7)) for _ in range(words)]
    return ". ".join(" ".join(made[k : k + 10]) for k in range(0, words, 10)) + "."


def document(number: int, text: str = "", **facts: str) -> Document:
    made = Document(f"pmid:{number}", text or prose(number), title=f"Title {number}", pmid=str(number))  # fmt: skip
    return replace(made, **facts)  # type: ignore[arg-type]


def build_of(
    folder: Path,
    documents: Sequence[Document],
    items: Sequence[ItemTexts] = (),
    *,
    files: int = 1,
    **settings: Any,
) -> BuiltCorpus:
    """Build a corpus of these, spread over files."""
    folder.mkdir()
    sources = [folder / f"source-{n}.jsonl" for n in range(files)]
    for n, path in enumerate(sources):
        write_documents(path, documents[n::files])
    return build_from(folder, sources, items, **settings)


def build_from(
    folder: Path,
    sources: Sequence[Path],
    items: Sequence[ItemTexts] = (),
    *,
    holdout: float = 0.2,
    seed: int = 1,
    created: str = "2026-11-23T05:00:00+00:00",
    languages: tuple[str, ...] = ("eng",),
) -> BuiltCorpus:
    out = folder / "corpus"
    out.mkdir()
    counter = TokenCounter(MODEL_FOLDER, "demo")
    about = Settings("sleep", holdout, seed, created, languages)
    return build(out, sources, items, about, counter, lambda stage, done, total: None)


def ids(corpus: BuiltCorpus) -> set[str]:
    return {found for part in ("train", "held_out") for (found,) in corpus.rows(part, ["id"])}
