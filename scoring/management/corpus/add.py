"""Collect texts under a corpus's name: files of .jsonl, .csv, .tsv and .txt, and folders of them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from lib.commands import ReportingCommand, progress
from scoring.services.training.corpora import Added, add_source
from scoring.training.corpus.read.local import Reading

SHOWN = 3


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--name", required=True, metavar="NAME", help="the corpus's")
    parser.add_argument(
        "--text-column",
        default="text",
        metavar="NAME",
        help="where JSON and tables have the text (default: text); id, title, doi, pmid, pmcid, journal, published, licence "
        "and kind are read where they are there",
    )
    parser.add_argument(
        "--split", choices=("blank-lines",), help="a .txt file's blocks are documents of their own"
    )


def run(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    reading = Reading(options["text_column"], options["split"] == "blank-lines")
    added = []
    for path in options["paths"]:
        with progress(path.name, None, "documents", quiet=options["json"]) as update:
            added.append(add_source(options["name"], path, reading, update))
    command.report(
        options,
        {"added": [asdict(one) for one in added]},
        chain.from_iterable(map(_lines, added)),
    )


def _lines(added: Added) -> Iterator[str]:
    before = ", as before" if added.was_there else ""
    names = ", ".join(added.skipped[:SHOWN]) + (", …" if len(added.skipped) > SHOWN else "")
    skipped = f" Not read, for its kind: {len(added.skipped):,} ({names})." if added.skipped else ""
    yield f"{added.path}: {added.documents:,} documents{before}.{skipped}"
    if added.n_no_dates:
        yield f"Kept without a date, for theirs is none (2019, 2019-08 or 2019-08-12): {added.n_no_dates:,}."
        yield from added.no_dates
        if added.n_no_dates > len(added.no_dates):
            yield "…"
