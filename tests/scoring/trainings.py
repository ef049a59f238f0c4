"""A corpus that was built, and trainings of seconds on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scoring.demo_lm import NAME as DEMO_NAME
from scoring.demo_lm.corpus import read_corpus, split
from scoring.models import Corpus, Training
from scoring.services.training.corpora import add_source, build_corpus
from scoring.services.training.create import create_training
from scoring.training.corpus.document import Document, write_documents
from scoring.training.corpus.read.local import Reading
from tests.scoring.training.lm.made import small


def build_onions(papers: Path, dates: Sequence[str] = ("2018-08", "2019-08")) -> Corpus:
    """A corpus of the demonstration model's paragraphs, as papers of these dates in turn."""
    texts = [paragraph.text for part in split(read_corpus()) for paragraph in part]
    write_documents(
        papers,
        (
            Document(
                f"file:{n}", text, f"Paper {n}", published=dates[n % len(dates)], licence="CC BY"
            )
            for n, text in enumerate(texts)
        ),
    )
    add_source("onions", papers, Reading(), lambda done: None)
    return build_corpus(
        "onions",
        holdout=0.1,
        seed=1,
        tokenizer=None,
        replace=False,
        on_progress=lambda stage, done, total: None,
    )


def asked(corpus: Corpus, name: str = "lab/onion-lm", **changes: Any) -> Training:
    """A training of an adapter onto the demonstration model; it waits."""
    settings = changes.pop("settings", None) or small("lora")
    values: dict[str, Any] = {"base": DEMO_NAME, "preset": "tiny"} | changes
    return create_training(name=name, corpus=corpus, settings=settings, **values)


def folders_in(settings: Any, folder: Path) -> None:
    """The site's folders, below a test's own."""
    for name in ("corpora", "trainings", "models"):
        setattr(settings, f"{name.upper()}_DIR", folder / name)
        (folder / name).mkdir()
