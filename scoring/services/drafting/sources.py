"""Abstracts to draft from: pasted, rows of a table, or what was fetched from PubMed. Everything wrong is named by its place."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from django.core.exceptions import ValidationError

from experiment.imports.read.pasted import abstracts_of
from experiment.imports.read.rows import MOST_OF_PAGE, FileRefusedError
from experiment.imports.reading import table_of
from experiment.models import ResearchField
from lib.tables import named
from scoring.domain.drafting import one_line
from scoring.training.corpus.document import CorpusError, Document, read_documents
from scoring.training.corpus.read.local import no_text
from scoring.training.corpus.unwanted import why_unwanted

COLUMNS = ("abstract", "doi", "subfield", "publication_date")
# What a column may be called, and what it holds
NAMES = {name: name for name in COLUMNS} | {"text": "abstract", "journal_section": "subfield"}
MOST_ABSTRACTS = 1_000
MOST_CHARACTERS = 10_000
MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class SourceAbstract:
    """An abstract and what is known of it; `row` counts from 1."""

    row: int
    abstract: str
    doi: str = ""
    subfield: str = ""
    publication_date: date | None = None


def of_table(data: bytes, research_field: ResearchField, sheet: str = "") -> list[SourceAbstract]:
    """The rows of a table with at least the column `abstract`; other columns than ours are passed over. sheet: of a spreadsheet.

    Raises:
        ValidationError: a sentence for each problem.
    """
    try:
        table = table_of(data, NAMES, MOST_OF_PAGE, sheet)
    except FileRefusedError as error:
        raise ValidationError(str(error)) from error
    if table.problems:
        raise ValidationError([f"{problem}." for problem in table.problems[:MOST_PROBLEMS]])
    if "abstract" not in named(table.columns, NAMES).values():
        why = no_text("abstract", table.columns)
        raise ValidationError(f"The file cannot be used for drafts: {why}.")
    cells = [{**dict.fromkeys(COLUMNS, ""), **row.cells} for row in table.rows]
    return _checked(cells, research_field, [row.problem("").place for row in table.rows])


def of_pasted(text: str, subfield: str, research_field: ResearchField) -> list[SourceAbstract]:
    """Abstracts with an empty line between them, all of one subfield.

    Raises:
        ValidationError: a sentence for each problem.
    """
    read = [abstract for abstract, _ in abstracts_of(text)]
    cells = [{**dict.fromkeys(COLUMNS, ""), "abstract": b, "subfield": subfield} for b in read]
    return _checked(cells, research_field, [f"abstract {n}" for n, _ in enumerate(cells, 1)])


def changed_of_pasted(text: str) -> list[str]:
    """A sentence for each abstract that `of_pasted` reads otherwise than it was pasted."""
    read = enumerate(abstracts_of(text), 1)
    said = [f"Abstract {n}: {'; '.join(changes)}." for n, (_, changes) in read if changes]
    more = [f"… and {len(said) - MOST_PROBLEMS} more."] if len(said) > MOST_PROBLEMS else []
    return said[:MOST_PROBLEMS] + more


def of_fetched(
    path: Path,
    research_field: ResearchField,
    limit: int | None = None,
    left_out: Counter[str] | None = None,
) -> list[SourceAbstract]:
    """The first abstracts in what `corpus fetch` wrote, a file of them or a folder; none that no corpus would take.

    Args:
        left_out: counts those before the last one taken that are retracted, notices or in another language.
    Raises:
        ValidationError: a sentence for each problem.
    """
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    count = Counter[str]() if left_out is None else left_out

    def is_wanted(document: Document) -> bool:
        why = why_unwanted(document)
        count[why] += bool(why)
        return not why

    documents = filter(is_wanted, (one for file in files for one in read_documents(file)))
    try:
        found = list(islice(documents, limit or MOST_ABSTRACTS + 1))
    except (CorpusError, OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path} cannot be read: {error}") from error
    if others := [document.id for document in found if document.kind != "abstract"]:
        raise ValidationError(f"{path}: {others[0]} is not an abstract.")
    cells = []
    for document in found:
        # A date without its day is left off: a test case has a whole one or none
        is_day = len(document.published) == len("2024-05-31")
        about = {"doi": document.doi, "publication_date": document.published if is_day else ""}
        cells.append({"abstract": document.text, "subfield": "", **about})
    return _checked(cells, research_field, [f"abstract {document.id}" for document in found])


def _checked(
    rows: Sequence[dict[str, str]], research_field: ResearchField, places: Sequence[str]
) -> list[SourceAbstract]:
    if not 0 < len(rows) <= MOST_ABSTRACTS:
        raise ValidationError(
            f"There are {len(rows):,} abstracts; 1 to {MOST_ABSTRACTS:,} can be drafted."
        )
    subfields = set(research_field.subfields.values_list("name", flat=True))
    read: list[SourceAbstract] = []
    problems: list[str] = []
    for n, (row, place) in enumerate(zip(rows, places, strict=True), start=1):
        cells = {name: one_line(row[name]) for name in COLUMNS}
        wrong = _problem(cells, subfields)
        if wrong:
            problems.append(f"{place[0].upper()}{place[1:]}: {wrong}.")
            continue
        on = date.fromisoformat(cells["publication_date"]) if cells["publication_date"] else None
        read.append(SourceAbstract(n, cells["abstract"], cells["doi"], cells["subfield"], on))
    if problems:
        more = len(problems) - MOST_PROBLEMS
        raise ValidationError(
            [*problems[:MOST_PROBLEMS], *([f"… and {more} more."] if more > 0 else [])]
        )
    return read


def _problem(cells: dict[str, str], subfields: set[str]) -> str:
    abstract, subfield, on = cells["abstract"], cells["subfield"], cells["publication_date"]
    if not abstract:
        return "the abstract is empty"
    if "\0" in "".join(cells.values()):
        return "it contains a NUL character"
    if len(abstract) > MOST_CHARACTERS:
        return f"the abstract has {len(abstract):,} characters, but at most {MOST_CHARACTERS:,} are allowed"
    if "[[" in abstract or "]]" in abstract:
        return "the abstract contains [[ or ]], which mark alterations"
    if subfield and subfield not in subfields:
        return f"“{subfield[:60]}” is not a subfield ({', '.join(sorted(subfields)) or 'the field does not have any'})"
    try:
        date.fromisoformat(on) if on else None
    except ValueError:
        return f"“{on[:40]}” is not a date like 2024-05-31"
    return f"the DOI has {len(cells['doi'])} characters" if len(cells["doi"]) > 200 else ""
