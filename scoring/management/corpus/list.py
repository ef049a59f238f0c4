"""List corpora that were built, and names that texts were collected under."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from lib.commands import ReportingCommand, table_lines
from scoring.models import Corpus
from scoring.services.training.corpora import collected


def add_arguments(parser: CommandParser) -> None:
    """None."""


def run(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    rows = list(Corpus.objects.all())
    waiting = sorted(set(collected()) - {row.slug for row in rows})
    built = [{"name": row.slug, "sha256": row.sha256, "manifest": row.manifest} for row in rows]
    command.report(options, {"built": built, "collected": waiting}, _lines(rows, waiting))


def _lines(rows: list[Corpus], waiting: list[str]) -> Iterator[str]:
    yield from table_lines((_cells(row) for row in rows), left={"corpus", "published"})
    if waiting:
        yield f"Collected and not built: {', '.join(waiting)}."
    elif not rows:
        yield "There is none yet."


def _cells(row: Corpus) -> dict[str, str]:
    manifest = row.manifest
    train, held_out = manifest["train"], manifest["held_out"]
    return {
        "corpus": row.slug,
        "documents": f"{train['documents']:,} + {held_out['documents']:,}",
        "tokens": f"{train['tokens']:,} + {held_out['tokens']:,}",
        "published": f"{manifest['first_published']} to {manifest['last_published']}",
        "hash": row.sha256[:12],
    }
