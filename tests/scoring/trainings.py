"""A corpus in its folder with its row, and trainings of seconds on it."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from scoring.demo_lm import NAME as DEMO_NAME
from scoring.models import Corpus, Training
from scoring.services.training.create import create_training
from scoring.training.corpus.manifest import write_manifest
from tests.scoring.training.lm.made import make_corpus, small


def corpus_row(name: str = "onions", **facts: Any) -> Corpus:
    """A corpus as `corpus build` leaves it."""
    row = Corpus(slug=name)
    manifest = replace(make_corpus(row.folder).manifest, **facts)
    row.sha256, row.manifest = write_manifest(row.folder, manifest), asdict(manifest)
    row.save()
    return row


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
