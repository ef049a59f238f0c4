"""Fetch abstracts or open-access full texts of journals, or of a query, from PubMed and PMC."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, StoppedError, progress, table_lines
from scoring.services.training.corpora import open_client
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.entrez import sources
from scoring.training.corpus.entrez.fetch import Fetched, Order, opened

AGAIN = "The same command goes on from there."


def add_arguments(parser: CommandParser) -> None:
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--journals",
        metavar="FILE",
        help="a journal on each line, and after a tab what its articles must be about; "
        f"{sources.BRAINGPT}: the list of BrainGPT",
    )
    asked.add_argument("--query", metavar="Q", help="a search in the language of PubMed")
    for name, help_text in (("--from", "the first year"), ("--to", "the last year")):
        parser.add_argument(
            name, dest=f"{name[2:]}_year", type=_year, required=True, metavar="YEAR", help=help_text
        )
    parser.add_argument("--kind", choices=("abstracts", "fulltext"), default="abstracts")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--limit", type=_limit, metavar="N", help="new documents, for a try")


def run(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    """Fetch what is not there yet.

    Raises:
        CommandError: the options are wrong, Entrez cannot be asked, or something could not be fetched.
    """
    quiet = options["json"]
    try:
        order = _order(options)
        with open_client() as client, opened(client, order) as fetching:
            unit = "records"
            with progress(unit, fetching.total, unit, done=fetching.here, quiet=quiet) as update:
                fetched = fetching.run(update)
    except CorpusError as error:
        raise CommandError(f"{error} {AGAIN}" if _has_begun(options) else str(error)) from error
    except KeyboardInterrupt as interrupt:
        raise StoppedError(f"Stopped. {AGAIN}") from interrupt
    command.report(options, {**asdict(fetched), "documents": fetched.documents}, _lines(fetched))
    if fetched.problems:
        raise CommandError(
            f"{len(fetched.problems)} could not be fetched whole; the first is {fetched.problems[0]}"
        )


def _order(options: Mapping[str, Any]) -> Order:
    if options["from_year"] > options["to_year"]:
        raise CorpusError("--from is after --to.")
    if options["query"] is not None and not options["query"].strip():
        raise CorpusError("--query is empty.")
    if options["query"] is not None:
        asked: tuple[sources.Source, ...] = (sources.of_query(options["query"]),)
    else:
        is_named = options["journals"] == sources.BRAINGPT
        asked = sources.of_journals(sources.JOURNALS if is_named else Path(options["journals"]))
    years = (options["from_year"], options["to_year"])
    today = datetime.now(UTC).date()
    return Order(asked, *years, options["kind"], options["output"], options["limit"], today)


def _has_begun(options: Mapping[str, Any]) -> bool:
    return any(options["output"].glob("*/.state.json"))


def _lines(fetched: Fetched) -> Iterator[str]:
    yield from table_lines(
        (
            {"documents": f"{source.documents:,}", "source": source.name}
            for source in fetched.sources
        ),
        left=("source",),
    )
    yield (
        f"{fetched.documents:,} documents, {fetched.new:,} of them new; left out: {fetched.without_text:,} records "
        f"without a text, {fetched.books:,} books."
    )
    yield from fetched.problems


def _year(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1000 <= int(text) <= 9999):
        raise ArgumentTypeError(f"“{text}” is no year")
    return int(text)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f"“{text}” is no whole number from 1")
    return int(text)
