"""Build a corpus of what was collected under its name: cleaned, without copies and test cases, parted, in Parquet files."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from lib.commands import ReportingCommand, progress
from scoring.models import Corpus
from scoring.services.training.corpora import build_corpus
from scoring.training.corpus.manifest import EXCLUDED, BuiltCorpus, Excluded, open_corpus

SHOWN = 5


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--name", required=True, metavar="NAME")
    parser.add_argument(
        "--holdout", type=_share, default=0.1, metavar="SHARE", help="of documents (default: 0.1)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        metavar="FOLDER",
        help="what tokens are counted with (default: the demonstration model's)",
    )
    parser.add_argument("--replace", action="store_true", help="a corpus of this name")


def run(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    with Stages(quiet=options["json"]) as stages:
        row = build_corpus(
            options["name"],
            holdout=options["holdout"],
            seed=options["seed"],
            tokenizer=options["tokenizer"],
            replace=options["replace"],
            on_progress=stages.update,
        )
    corpus = open_corpus(row.folder)
    leaks = [one for one in corpus.excluded() if one.reason.startswith("test case")]
    command.report(options, _data(row, corpus, leaks), _lines(corpus, leaks))


class Stages(ExitStack):
    """A bar for each stage, one after the other."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._stage, self._quiet = "", quiet

    def update(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            self._update = self.enter_context(progress(stage, total, quiet=self._quiet))
        self._update(done)


def _data(row: Corpus, corpus: BuiltCorpus, leaks: list[Excluded]) -> dict[str, Any]:
    return {
        "name": row.slug,
        "sha256": corpus.sha256,
        "folder": str(corpus.folder),
        "manifest": row.manifest,
        "test_cases": [asdict(one) for one in leaks],
    }


def _lines(corpus: BuiltCorpus, leaks: list[Excluded]) -> Iterator[str]:
    manifest = corpus.manifest
    for name, part in (("training", manifest.train), ("held out", manifest.held_out)):
        yield f"{name}: {part.documents:,} documents, {part.words:,} words, {part.tokens:,} tokens"
    for reason, n in manifest.excluded.items():
        yield f"left out: {n:,} ({reason})"
    if leaks:
        items = Counter(one.of for one in leaks).most_common(SHOWN)
        documents = "1 document" if len(leaks) == 1 else f"{len(leaks):,} documents"
        yield f"Test cases: {documents} would have given away one, {leaks[0].id} the first; by test case:"
        yield from (f"  {key}: {n:,}" for key, n in items)
    yield f"What was left out, and why, is in {corpus.folder / EXCLUDED}; the corpus is {corpus.sha256[:12]}."


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text} is no share between 0 and 1")
    return share
