"""See that a corpus's files are those that were built, and that it holds no test case of today."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, progress
from scoring.models import Corpus
from scoring.services.training.corpora import leaks
from scoring.training.corpus.manifest import open_corpus


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--name", required=True, metavar="NAME")


def run(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    row = Corpus.objects.filter(slug=options["name"]).first()
    if row is None:
        raise CommandError(f"There is no corpus {options['name']}.")
    corpus = open_corpus(row.folder)
    corpus.check()
    manifest = corpus.manifest
    total = manifest.train.documents + manifest.held_out.documents
    with progress("documents", total, quiet=options["json"]) as update:
        found = list(leaks(corpus, update))
    items = Counter(one.of for one in found)
    lines = [f"  {one.id} ({one.reason}, {one.of})" for one in found] or [
        f"{row} holds no test case, and its files are whole."
    ]
    command.report(options, {"test_cases": [asdict(one) for one in found]}, lines)
    if found:
        raise CommandError(
            f"{len(found)} documents give {len(items)} test cases away: corpus build --name {row} --replace."
        )
