"""Reads texts from files of one's own: lines of JSON, tables with named columns, also of spreadsheets, PubMed's files, plain texts, folders of them.

What is wrong is gathered by file and line. Links are not followed, so that a folder brings in what lies in it alone.
"""

import gzip
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, get_args

from lib.confined import ConfinedError, confined
from lib.files import not_json, open_regular
from lib.spreadsheets import SheetsError, SpreadsheetError, read_sheet
from lib.tables import UTF_16, TableReader, decoded, folded, under
from scoring.training.corpus.document import CorpusError, Document, Kind, last_day, plain_doi
from scoring.training.corpus.read.nbib import is_tagged, read_tagged
from scoring.training.corpus.read.xml import Damaged, read_articles
from scoring.training.corpus.unwanted import DELETED_TYPE

TEXTS, METADATA = "text.csv", "metadata.csv"


def is_pubget(folder: Path) -> bool:
    return (folder / TEXTS).is_file() and (folder / METADATA).is_file()


def read_pubget(folder: Path) -> Iterator[Document]:
    """One document for each PMCID and DOI: abstract, line break, body. Rows without a body are passed over.

    Raises:
        CorpusError: a row cannot be read, by its file and line.
    """
    columns = ("pmcid", "pmid", "doi", "title", "journal", "publication_year", "license")
    metadata = _rows(folder / METADATA, columns)
    about = {_number(row["pmcid"], place): row for place, row in metadata}
    seen: set[str] = set()
    for place, row in _rows(folder / TEXTS, ("pmcid", "title", "abstract", "body")):
        number = _number(row["pmcid"], place)
        if number not in about:
            raise CorpusError(f"{place}: {METADATA} does not have a row for the PMCID {number}.")
        facts = about[number]
        doi = plain_doi(facts["doi"])
        names = {number, doi} - {""}
        if not row["body"].strip() or names & seen:
            continue
        seen |= names
        yield Document(
            id=f"pmcid:PMC{number}",
            text="\n".join(filter(None, (row["abstract"].strip(), row["body"].strip()))),
            title=" ".join((row["title"] or facts["title"]).split()),
            doi=doi,
            pmid=facts["pmid"].removesuffix(".0"),
            pmcid=f"PMC{number}",
            journal=facts["journal"],
            published=facts["publication_year"].removesuffix(".0"),
            licence=facts["license"],
            kind="fulltext",
            source="pubget",
        )


def _number(text: str, place: str) -> str:
    number = text.strip().upper().removeprefix("PMC")
    if not (number.isascii() and number.isdigit()):
        raise CorpusError(f"{place}: “{text[:40]}” is not a PMCID.")
    return number


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows as cells by column, each with its place.

    Raises:
        CorpusError: a column is missing, or a row cannot be read, by file and line.
    """

    def refuse(line: int, why: str) -> NoReturn:
        raise CorpusError(f"{path.name}, line {line}: {why}.")

    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            table = TableReader(file, refuse, columns)
            if missing := [name for name in columns if name not in table.columns]:
                raise CorpusError(f"{path.name}: the column {missing[0]} is missing.")
            for cells in table:
                place = f"{path.name}, line {table.first_line}"
                yield place, dict(zip(table.columns, cells, strict=True))
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path.name}, after line {table.last_line}: {error}.") from error


MOST_BYTES = 64 * 2**20  # of a line, and of a text that is one document
MOST_PROBLEMS = 20
NAMESPACES = ("pmid:", "pmcid:", "doi:", "file:")
NAMES = [one.name for one in fields(Document)]
Row = tuple[int, Mapping[str, Any]]  # its line, and values by name
Lines = Iterator[tuple[int, str]]


@dataclass
class Problems:
    """Problems that keep files from being read, by place, records that are no documents, and dates that were left off."""

    found: list[str] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)  # by what they are
    no_dates: list[str] = field(default_factory=list)  # the first ones
    n_no_dates: int = 0

    def add(self, place: str, why: str) -> None:
        """Raises CorpusError once there are more than anybody reads."""
        self.found.append(f"{place}: {why}.")
        if len(self.found) == MOST_PROBLEMS:
            self.refuse()

    def dated(self, document: Document, place: str) -> Document:
        """The document, without its date if that is none."""
        if not document.published or last_day(document.published):
            return document
        self.n_no_dates += 1
        if self.n_no_dates <= MOST_PROBLEMS:
            self.no_dates.append(f"{place}: “{document.published}”")
        return replace(document, published="")

    def refuse(self) -> None:
        """Raises CorpusError where there was a problem."""
        if self.found:
            raise CorpusError("\n".join(self.found))


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    text_column: str = "text"
    by_blank_lines: bool = False  # a plain text's blocks are documents of their own


@dataclass(frozen=True, slots=True)
class LocalFile:
    path: Path
    name: str  # from the folder that was named


def local_files(path: Path, problems: Problems, skipped: list[str]) -> Iterator[LocalFile]:
    """The readable files at a path, in the order of their names; `skipped` gets the names of files of other kinds."""
    if not path.is_dir():
        if ending_of(path) in ENDINGS:
            yield LocalFile(path, path.name)
        else:
            problems.add(
                path.name,
                f"is not a {', '.join(ENDINGS)} file" if path.exists() else "is not there",
            )
        return
    folders = [path]
    while folders:
        folder = folders.pop()
        if is_pubget(folder):
            yield LocalFile(folder, folder.name)
            continue
        visible = (entry for entry in os.scandir(folder) if not entry.name.startswith("."))
        entries = sorted(visible, key=lambda entry: entry.name)
        for entry in entries:
            name = f"{path.resolve().name}/{Path(entry.path).relative_to(path)}"
            if entry.is_symlink():
                problems.add(name, "is a link, and links are not followed")
            elif ending_of(Path(entry.name)) in ENDINGS and not entry.is_dir():
                yield LocalFile(Path(entry.path), name)
            elif not entry.is_dir() and not entry.name.startswith("."):  # notes of `corpus fetch`
                skipped.append(name)
        folders += [
            Path(entry.path) for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)
        ]


def read_file(local: LocalFile, reading: Reading, problems: Problems) -> Iterator[Document]:
    """The documents of one file, or of a folder of pubget's."""
    name = local.name
    if local.path.is_dir():
        for document in read_pubget(local.path):
            yield problems.dated(document, f"{name}, {document.id}")
        return
    try:
        with open_regular(local.path, follow=False) as file:
            if (ending := ending_of(local.path)) in XML:
                yield from _of_xml(file, name, problems, packed=ending.endswith(".gz"))
                return
            if ending in SHEETS:
                read = _sheet_rows(file, name, reading, problems)
                yield from _documents(read, name, reading, problems)
                return
            lines = _lines(file, name, problems)
            begin = list(islice(lines, 1))
            lines = chain(begin, lines)
            if ending == NBIB or (ending == ".txt" and begin and is_tagged(begin[0][1])):
                yield from _of_pubmed(read_tagged(line for _, line in lines), name, problems)
            elif (rows := READERS[ending]) is None:
                yield from _plain_text(lines, name, reading, problems)
            else:
                read = rows(lines, name, reading, problems)
                yield from _documents(read, name, reading, problems)
    except OSError as error:
        problems.add(name, f"cannot be read ({error.strerror or error})")


def _of_xml(file: BinaryIO, name: str, problems: Problems, *, packed: bool) -> Iterator[Document]:
    n = 0
    try:
        with gzip.GzipFile(fileobj=file) if packed else file as content:
            for records in read_articles(content):
                n += 1
                yield from _of_pubmed(records.documents, name, problems)
                problems.passed_over[NO_ABSTRACT] += len(records.without_text)
                problems.passed_over[BOOK] += len(records.books)
    except Damaged as error:
        problems.add(name, f"is not readable XML after {n:,} records ({error})")
        return
    if not n:
        problems.add(name, "does not contain an article of PubMed or PMC")


def _of_pubmed(documents: Iterable[Document], name: str, problems: Problems) -> Iterator[Document]:
    for document in documents:
        if not document.text and document.publication_types != DELETED_TYPE:
            problems.passed_over[NO_ABSTRACT] += 1
        else:
            yield problems.dated(document, f"{name}, {document.id}")


def _json_rows(lines: Lines, name: str, reading: Reading, problems: Problems) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.add(f"{name}, line {number}", f"is not JSON ({not_json(error)})")
            continue
        if isinstance(values, dict):
            yield number, values
        else:
            problems.add(f"{name}, line {number}", "is not an object, {...}")


def _table_rows(
    lines: Lines, name: str, reading: Reading, problems: Problems, *, delimiter: str = ""
) -> Iterator[Row]:
    def refuse(line: int, why: str) -> None:
        problems.add(f"{name}, line {line}", why)

    known = (reading.text_column, *NAMES)
    table = TableReader((line for _, line in lines), refuse, known, delimiter)
    if table.columns and folded(reading.text_column) not in map(folded, table.columns):
        refuse(table.first_line, no_text(reading.text_column, table.columns))
        return
    for cells in table:
        yield table.last_line, dict(zip(table.columns, cells, strict=True))


def _sheet_rows(file: BinaryIO, name: str, reading: Reading, problems: Problems) -> Iterator[Row]:
    """Rows of the sheet that has the column of texts, by their numbers there."""
    try:
        refusals = [SheetsError, SpreadsheetError]
        data, known = file.read(MOST_BYTES + 1), (reading.text_column, *NAMES)
        sheet = confined(read_sheet, data[:MOST_BYTES], known, refusals=refusals)
    except (ConfinedError, SpreadsheetError) as error:
        problems.add(name, str(error).removesuffix("."))
        return
    if folded(reading.text_column) not in map(folded, sheet.columns):
        problems.add(name, no_text(reading.text_column, sheet.columns))
        return
    for number, cells in sheet.rows:
        yield number, dict(zip(sheet.columns, cells, strict=True))


def no_text(column: str, there: Iterable[object]) -> str:
    """Why a row, or a table of these columns, has none.

    >>> no_text("text", ["title", "abstract"])
    'no text in “text” (columns: title, abstract)'
    """
    names = [str(name) for name in there]
    if {"pmid", "title", "citation"} <= {*map(folded, names)}:
        return (
            "PubMed's CSV export does not contain abstracts. Send the results to a citation manager (.nbib), or use corpus "
            "fetch"
        )
    return f"no text in “{column}” (columns: {', '.join(names)})"


def _plain_text(
    lines: Lines, name: str, reading: Reading, problems: Problems
) -> Iterator[Document]:
    block: list[str] = []
    size = start = number = 0
    for number, line in lines:
        if reading.by_blank_lines and not line.strip():
            if block:
                yield Document(f"file:{name}#{start}", "".join(block), source=name)
            block, size = [], 0
            continue
        start = start if block else number
        block.append(line)
        size += len(line)
        if size > MOST_BYTES:
            problems.add(
                f"{name}, line {start}", f"is a text of more than {MOST_BYTES:,} characters"
            )
            return
    if block:
        place = f"#{start}" if reading.by_blank_lines else ""
        yield Document(f"file:{name}{place}", "".join(block), source=name)


NO_ABSTRACT, BOOK = "without a text", "a book"
XML = (".xml", ".xml.gz")
NBIB = ".nbib"
# What reads rows of a file; None where it has none, but a text
READERS: Mapping[str, Callable[[Lines, str, Reading, Problems], Iterator[Row]] | None] = {
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".csv": _table_rows,
    ".tsv": partial(_table_rows, delimiter="\t"),
    ".txt": None,
}
SHEETS = (".xlsx", ".ods")
ENDINGS = (*READERS, *SHEETS, NBIB, *XML)


def ending_of(path: Path) -> str:
    """The ending of a file's name, in small letters; with what is packed in a .gz.

    >>> ending_of(Path("pubmed26n0001.XML.gz")), ending_of(Path("notes.v2.txt"))
    ('.xml.gz', '.txt')
    """
    inner = Path(path.stem).suffix if path.suffix.lower() == ".gz" else ""
    return f"{inner}{path.suffix}".lower()


def _lines(file: BinaryIO, name: str, problems: Problems) -> Lines:
    """Lines of UTF-8, or of UTF-16 with its mark, by number and with their ends; of another encoding, a problem."""
    number = 0
    while line := file.readline(MOST_BYTES + 1):
        number += 1
        if number == 1 and line.startswith(UTF_16):
            # The whole file at once, as its lines do not end at one byte
            data = line + file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                why = f"is UTF-16 text of more than {MOST_BYTES:,} bytes. Save it as UTF-8"
                problems.add(name, why)
                return
            try:
                yield from enumerate(io.StringIO(decoded(data), newline="\n"), start=1)
            except UnicodeDecodeError as error:
                problems.add(name, f"is not UTF-16, at byte {error.start + 1}")
            return
        if len(line) > MOST_BYTES:
            problems.add(f"{name}, line {number}", f"has more than {MOST_BYTES:,} bytes")
            return
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problems.add(f"{name}, line {number}", f"is not UTF-8, at byte {error.start + 1}")


def _documents(
    rows: Iterator[Row], name: str, reading: Reading, problems: Problems
) -> Iterator[Document]:
    for number, values in rows:
        place = f"{name}, line {number}"
        known = {folded(key): value for key, value in values.items()}
        text = under(reading.text_column, values)
        if not isinstance(text, str):
            problems.add(place, no_text(reading.text_column, values))
            continue
        # A number as JSON has it may be a PMID
        plain = {k: str(v).strip() for k, v in known.items() if isinstance(v, str | int)}
        found = {one: plain.get(folded(one), "") for one in NAMES}
        given = found["id"]
        found["id"] = given if given.startswith(NAMESPACES) else f"file:{name}#{given or number}"
        found["source"] = found["source"] or name
        found["kind"] = found["kind"] if found["kind"] in get_args(Kind) else "other"
        document = Document(**(found | {"text": text}))  # type: ignore[arg-type]
        try:
            "".join(getattr(document, one) for one in NAMES).encode()
        except UnicodeEncodeError:
            problems.add(place, "contains half a character (a lone surrogate)")
        else:
            yield problems.dated(document, place)
