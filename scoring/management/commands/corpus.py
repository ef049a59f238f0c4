from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, StoppedError, add_json_argument, progress, table_lines
from lib.shapes import Either
from scoring.management.trainings import find_corpus
from scoring.models import Corpus
from scoring.services.training.corpora import (
    Added,
    add_source,
    build_corpus,
    collected,
    leaks,
    open_client,
)
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.entrez import sources
from scoring.training.corpus.entrez.fetch import Order, opened
from scoring.training.corpus.manifest import EXCLUDED, Excluded, open_corpus
from scoring.training.corpus.read.local import Reading
from scoring.training.corpus.unwanted import ENGLISH, plain_language

Run = Callable[[ReportingCommand, Mapping[str, Any]], None]
AGAIN = "Run the same command to continue."


def _add_fetch(parser: CommandParser) -> None:
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--journals",
        metavar="FILE",
        help=f"file with one journal per line, optionally with a tab and a topic of its articles; {sources.BRAINGPT} is the "
        "list of BrainGPT",
    )
    asked.add_argument("--query", metavar="Q", help="search in PubMed's syntax")
    for name, help_text in (("--from", "the first year"), ("--to", "the last year")):
        parser.add_argument(
            name, dest=f"{name[2:]}_year", type=_year, required=True, metavar="YEAR", help=help_text
        )
    parser.add_argument("--kind", choices=("abstracts", "fulltext"), default="abstracts")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--limit", type=_limit, metavar="N", help="number of new documents, for a short run"
    )


def _fetch(command: ReportingCommand, options: Mapping[str, Any]) -> None:
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
        has_begun = any(options["output"].glob("*/.state.json"))
        raise CommandError(f"{error} {AGAIN}" if has_begun else str(error)) from error
    except KeyboardInterrupt as interrupt:
        raise StoppedError(f"Stopped. {AGAIN}") from interrupt
    cells = [{"documents": f"{one.documents:,}", "source": one.name} for one in fetched.sources]
    lines = [
        *table_lines(cells, left=("source",)),
        (
            f"{fetched.documents:,} documents, {fetched.new:,} of them new; left out: {fetched.without_text:,} records "
            f"without a text, {fetched.books:,} books."
        ),
        *fetched.problems,
    ]
    command.report(options, {**asdict(fetched), "documents": fetched.documents}, lines)
    if fetched.problems:
        n = "1 problem" if len(fetched.problems) == 1 else f"{len(fetched.problems)} problems"
        raise CommandError(
            f"Not everything could be fetched ({n}). The first: {fetched.problems[0]}"
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


def _year(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1000 <= int(text) <= 9999):
        raise ArgumentTypeError(f"“{text}” is not a year")
    return int(text)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f"“{text}” is not a whole number from 1")
    return int(text)


SKIPPED_SHOWN = 3


def _add_add(parser: CommandParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the corpus")
    parser.add_argument(
        "--text-column",
        default="text",
        metavar="NAME",
        help="column of the text in JSON and tables (default: text). Also read if present: `id`, title, doi, pmid, pmcid, "
        "journal, published, licence, kind, publication_types and language",
    )
    parser.add_argument(
        "--split", choices=("blank-lines",), help="each block of a .txt file is a separate document"
    )


def _add(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    reading = Reading(options["text_column"], options["split"] == "blank-lines")
    found, lines = [], list[str]()
    for path in options["paths"]:
        with progress(path.name, None, "documents", quiet=options["json"]) as update:
            added = add_source(options["name"], path, reading, update)
        found.append(asdict(added))
        before = ", as before" if added.was_there else ""
        skipped = ""
        if added.skipped:
            more = ["…"] if len(added.skipped) > SKIPPED_SHOWN else []
            names = ", ".join([*added.skipped[:SKIPPED_SHOWN], *more])
            skipped = f" Not read because of their type: {len(added.skipped):,} ({names})."
        lines.append(f"{added.path}: {added.documents:,} documents{before}.{skipped}")
        if added.passed_over:
            told = ", ".join(f"{n:,} {what}" for what, n in added.passed_over.items())
            lines.append(f"Records left out: {told}.")
        if added.n_no_dates:
            lines.append(
                f"Documents stored without a date, because their date is not in the form 2019, 2019-08 or 2019-08-12: {added.n_no_dates:,}."
            )
            lines += added.no_dates
            lines += ["…"] if added.n_no_dates > len(added.no_dates) else []
    command.report(options, {"added": found}, lines)


LEAKS_SHOWN = 5
ALL = "all"
CODE_LETTERS = 3


def _add_build(parser: CommandParser) -> None:
    parser.add_argument("--name", required=True, metavar="NAME")
    parser.add_argument(
        "--holdout",
        type=_share,
        default=0.1,
        metavar="SHARE",
        help="share of documents to hold out (default: 0.1)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        metavar="FOLDER",
        help="tokenizer that counts tokens (default: the demonstration model's)",
    )
    parser.add_argument(
        "--languages",
        type=_languages,
        default=(ENGLISH,),
        metavar=f"CODE,…|{ALL}",
        help=(
            "languages of texts as PubMed writes them: eng, spa, fre, ger, … (default: eng); texts without a language are "
            "included"
        ),
    )
    parser.add_argument(
        "--replace", action="store_true", help="replace an existing corpus with this name"
    )


def _build(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    with _Stages(quiet=options["json"]) as stages:
        row = build_corpus(
            options["name"],
            holdout=options["holdout"],
            seed=options["seed"],
            tokenizer=options["tokenizer"],
            replace=options["replace"],
            languages=options["languages"],
            on_progress=stages.update,
        )
    corpus = open_corpus(row.folder)
    leaks = [one for one in corpus.excluded() if one.reason.startswith("test case")]
    data = {
        "name": row.slug,
        "sha256": corpus.sha256,
        "folder": str(corpus.folder),
        "manifest": row.manifest,
        "test_cases": [asdict(one) for one in leaks],
    }
    manifest = corpus.manifest
    lines = [
        f"{name}: {part.documents:,} documents, {part.words:,} words, {part.tokens:,} tokens"
        for name, part in (("training", manifest.train), ("held out", manifest.held_out))
    ]
    lines += [f"left out: {n:,} ({reason})" for reason, n in manifest.excluded.items()]
    if leaks:
        documents = "1 document was" if len(leaks) == 1 else f"{len(leaks):,} documents were"
        lines.append(
            f"{documents} left out because they would have revealed a test case (the first: {leaks[0].id}). By test case:"
        )
        items = Counter(one.of for one in leaks).most_common(LEAKS_SHOWN)
        lines += [f"  {key}: {n:,}" for key, n in items]
    lines.append(
        f"{corpus.folder / EXCLUDED} lists what was left out and why. The corpus's hash is {corpus.sha256[:12]}…."
    )
    command.report(options, data, lines)


class _Stages(ExitStack):
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


def _languages(text: str) -> tuple[str, ...]:
    if text == ALL:
        return ()
    codes = tuple(plain_language(text.replace(",", ";")).split("; "))
    if not all(code.isalpha() and len(code) == CODE_LETTERS for code in codes):
        raise ArgumentTypeError(f"“{text}” does not name languages. Write eng,spa or {ALL}")
    return codes


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0
    if not 0 < share < 1:
        raise ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return share


def _list(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    rows = list(Corpus.objects.all())
    waiting = sorted(set(collected()) - {row.slug for row in rows})
    built = [{"name": row.slug, "sha256": row.sha256, "manifest": row.manifest} for row in rows]
    cells = []
    for row in rows:
        train, held_out = row.manifest["train"], row.manifest["held_out"]
        one = {
            "corpus": row.slug,
            "documents": f"{train['documents']:,} + {held_out['documents']:,}",
            "tokens": f"{train['tokens']:,} + {held_out['tokens']:,}",
            "published": f"{row.manifest['first_published']} to {row.manifest['last_published']}",
            "hash": row.sha256[:12],
        }
        cells.append(one)
    lines = list(table_lines(cells, left={"corpus", "published"}))
    if waiting:
        lines.append(f"Collected and not built: {', '.join(waiting)}.")
    elif not rows:
        lines.append("There is none yet.")
    command.report(options, {"built": built, "collected": waiting}, lines)


def _check(command: ReportingCommand, options: Mapping[str, Any]) -> None:
    row = find_corpus(options["name"])
    corpus = open_corpus(row.folder)
    corpus.check()
    manifest = corpus.manifest
    total = manifest.train.documents + manifest.held_out.documents
    with progress("documents", total, quiet=options["json"]) as update:
        found = list(leaks(corpus, update))
    items = Counter(one.of for one in found)
    lines = [f"  {one.id} ({one.reason}, {one.of})" for one in found] or [
        f"{row} does not contain any test case, and its files are intact."
    ]
    command.report(options, {"test_cases": [asdict(one) for one in found]}, lines)
    if found:
        raise CommandError(
            f"{len(found)} documents reveal {len(items)} test cases. Run corpus build --name {row} --replace."
        )


# What each part says of itself, what it asks for, and what does it
PARTS: Mapping[str, tuple[str, Callable[[CommandParser], object], Run]] = {
    "fetch": (
        "Fetch abstracts or open-access full texts of journals, or of a query, from PubMed and PMC.",
        _add_fetch,
        _fetch,
    ),
    "add": (
        "Collect texts under a corpus's name: files of .jsonl, .csv, .tsv, .txt, PubMed's .xml, .xml.gz and .nbib, and folders.",
        _add_add,
        _add,
    ),
    "build": (
        (
            "Build a corpus from the collected texts: cleaned, without copies and test cases, split into parts, in Parquet "
            "files."
        ),
        _add_build,
        _build,
    ),
    "list": (
        "List built corpora, and names of collected texts.",
        lambda parser: None,
        _list,
    ),
    "check": (
        "Check that a corpus's files are unchanged, and that it does not contain any current test case.",
        lambda parser: parser.add_argument("--name", required=True, metavar="NAME"),
        _check,
    ),
}


class Command(ReportingCommand):
    help = "Gather a field's literature, and build a corpus for training from it."
    prints = Either(
        fetch={
            "sources": [{str: Any}],
            "new": int,
            "without_text": int,
            "books": int,
            "problems": [str],
            "documents": int,
        },
        add={"added": [Added]},
        build={
            "name": str,
            "sha256": str,
            "folder": str,
            "manifest": {str: Any},
            "test_cases": [Excluded],
        },
        list={"built": [{"name": str, "sha256": str, "manifest": {str: Any}}], "collected": [str]},
        check={"test_cases": [Excluded]},
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="|".join(PARTS), required=True)
        for name, (about, add_arguments, _) in PARTS.items():
            part = actions.add_parser(name, help=about, description=about)
            add_arguments(part)
            add_json_argument(part)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            PARTS[options["action"]][2](self, options)
        except CorpusError as error:
            raise CommandError(str(error)) from error
