"""What pubget has extracted (text.csv and metadata.csv of one folder) -> documents, one row at a time.

Both files may have gigabytes: of metadata.csv, whose rows are short, all is kept in memory; of text.csv a row.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scoring.training.corpus.document import CorpusError, Document, plain_doi

LONGEST_CELL = 2**31 - 1
TEXTS, METADATA = "text.csv", "metadata.csv"


@dataclass(frozen=True, slots=True)
class _About:
    """A row of metadata.csv."""

    pmid: str
    doi: str
    title: str
    journal: str
    year: str
    licence: str


def is_pubget(folder: Path) -> bool:
    return (folder / TEXTS).is_file() and (folder / METADATA).is_file()


def read_pubget(folder: Path) -> Iterator[Document]:
    """One document for each PMCID and DOI: abstract, line break, body. Rows without a body are passed over.

    Raises:
        CorpusError: a row cannot be read, by its file and line.
    """
    about = _metadata(folder / METADATA)
    seen: set[str] = set()
    for place, row in _rows(folder / TEXTS, ("pmcid", "title", "abstract", "body")):
        number = _number(row["pmcid"], place)
        if number not in about:
            raise CorpusError(f"{place}: {METADATA} has no row for the PMCID {number}.")
        facts = about[number]
        names = {number, facts.doi} - {""}
        if not row["body"].strip() or names & seen:
            continue
        seen |= names
        yield Document(
            id=f"pmcid:PMC{number}",
            text="\n".join(filter(None, (row["abstract"].strip(), row["body"].strip()))),
            title=" ".join((row["title"] or facts.title).split()),
            doi=facts.doi,
            pmid=facts.pmid,
            pmcid=f"PMC{number}",
            journal=facts.journal,
            published=facts.year,
            licence=facts.licence,
            kind="fulltext",
            source="pubget",
        )


def _metadata(path: Path) -> dict[str, _About]:
    columns = ("pmcid", "pmid", "doi", "title", "journal", "publication_year", "license")
    about = {}
    for place, row in _rows(path, columns):
        about[_number(row["pmcid"], place)] = _About(
            row["pmid"].removesuffix(".0"),
            plain_doi(row["doi"]),
            row["title"],
            row["journal"],
            row["publication_year"].removesuffix(".0"),
            row["license"],
        )
    return about


def _number(text: str, place: str) -> str:
    number = text.strip().upper().removeprefix("PMC")
    if not (number.isascii() and number.isdigit()):
        raise CorpusError(f"{place}: “{text[:40]}” is no PMCID.")
    return number


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows as cells by column, each with its place.

    Raises:
        CorpusError: a column is missing, or a row has too few or too many cells, by file and line.
    """
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        try:
            if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
                raise CorpusError(f"{path.name}: the column {missing[0]} is missing.")
            for row in reader:
                place = f"{path.name}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise CorpusError(
                        f"{place}: the row has not as many cells as there are columns."
                    )
                yield place, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise CorpusError(f"{path.name}, after line {reader.line_num}: {error}.") from error
