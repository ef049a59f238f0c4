"""Test cases of a file, in our own form or the published files': what each row says, checked by itself and against the others.

The texts of a row are markup, or two versions, or both, where the versions settle what the markup leaves open.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import ClassVar

from experiment.domain import item_columns
from experiment.domain.item_checks.characters import visible
from experiment.domain.item_checks.findings import Level
from experiment.domain.item_checks.form import check_looks
from experiment.domain.item_columns import NOT_READ, OWN, PUBLISHED, VERSIONS
from experiment.domain.looks import looks, typed_with
from experiment.domain.markup import Abstract, MarkupError, parse, place, render
from experiment.domain.markup_between import markup_between, written_alike
from experiment.imports.read import repair
from experiment.imports.read.records import (
    Cells,
    ColumnsError,
    Record,
    RecordsFile,
    as_problems,
    names_of,
)
from experiment.imports.read.rows import MOST_ROWS, read_rows
from lib.tables import folded

COMBINED = "combined_abstract"  # markup as only the published files have it
# What a column may be called, and what it holds
NAMES = {name: name for name in (*OWN, *VERSIONS)} | PUBLISHED
# A column that may hold anything, where neither markup nor both versions have a better name
TEXT = {"text": "markup"}
# What other people's names of the columns that have to be there are made of
WORDS = {
    "altered": "altered incorrect modified changed edited false fake wrong corrupted manipulated",
    "original": "original correct true real abstract",
    "markup": "markup combined marked text",
}
_CONTEXT = 30


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults for rows of a file that has no such column, or an empty cell in it."""

    source: str = "human"
    generator: str = ""


BY_PEOPLE = Defaults()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord(Record):
    """Its markup gives exactly `original` and `altered`.

    is_damaged: its published versions are not what its published markup says.
    """

    DETAILS: ClassVar[tuple[str, ...]] = item_columns.DETAILS

    original: str
    altered: str
    kind: str = "test"
    publication_date: date | None = None
    is_damaged: bool = False

    @property
    def identity(self) -> tuple[str, ...]:
        if self.key:
            return ("key", self.key)
        return ("markup", self.source, looks(self.original), looks(self.altered), "")


ItemsFile = RecordsFile[ItemRecord]


@as_problems
def read_items(
    data: bytes,
    defaults: Defaults = BY_PEOPLE,
    columns: Mapping[str, str] = MappingProxyType({}),
    most: int = MOST_ROWS,
    unit: str = "row",
    sheet: str = "",
) -> ItemsFile:
    """The test cases of a file's bytes, of any kind that `read_rows` takes; one problem, of no row, where they are no such file.

    columns: our name, and what the file calls it. most: rows. unit: as of `RecordsFile`.
    """
    table = read_rows(data, [*NAMES, *TEXT, *columns.values()], most, sheet)
    for known in (NAMES, NAMES | TEXT):
        names = names_of(table.columns, known, columns, WORDS)
        if "markup" in names.values() or {*VERSIONS} <= {*names.values()}:
            break
    else:
        message = "The file has no column “markup”, and not both “original” and “altered”"
        raise ColumnsError(message, table.columns, WORDS)
    problems, records = list(table.problems), []
    for row in table.rows:
        cells = Cells(row, names)
        texts = _texts(cells)
        record = ItemRecord(
            markup=texts.markup,
            original=texts.original,
            altered=texts.altered,
            is_damaged=texts.is_damaged,
            read_as=texts.read_as,
            kind=cells.kind(),
            publication_date=cells.date(),
            **cells.common(defaults.source, defaults.generator),
        )
        problems += cells.problems
        if not cells.problems:
            records.append(record)
    ignored = [name for name in table.columns if names.get(name, "status") in NOT_READ]
    return ItemsFile.of(records, ignored, problems, unit)


@dataclass(frozen=True, slots=True)
class Texts:
    """Markup that gives exactly the versions; all empty where something is wrong. read_as: as of `Record`."""

    markup: str = ""
    original: str = ""
    altered: str = ""
    is_damaged: bool = False
    read_as: tuple[str, ...] = ()


def _texts(cells: Cells) -> Texts:
    before = len(cells.problems)
    markup, original, altered = (
        cells.text(name, strip=False) for name in ("markup", "original", "altered")
    )
    if len(cells.problems) > before:
        return Texts()
    if not (markup or original or altered):
        has_markup = cells.columns.get("markup") in cells.row.cells
        cells.fail("markup" if has_markup else "original", "is empty")
        return Texts()
    if bool(original) != bool(altered):
        cells.fail("altered" if original else "original", "is empty, but the other version is not")
        return Texts()
    if not markup and original:
        return _between(cells, original, altered)
    return _marked(cells, markup, original, altered)


def _between(cells: Cells, original: str, altered: str) -> Texts:
    original, given = original.strip(), altered.strip()
    if original == given:
        cells.fail("altered", "is the same as the original")
        return Texts()
    altered = written_alike(original, given)
    if looks(original) == looks(altered):
        where = f"{typed_with(original, given)}; {_first_difference(original, given)}"
        cells.fail("altered", f"looks the same as the original and differs only in {where}")
        return Texts()
    markup = markup_between(original, altered)
    if markup is None:
        cells.fail(
            "altered", "the differences are not whole words, or too many. Give the text as markup."
        )
        return Texts()
    if altered == given:
        return Texts(markup, original, altered)
    said = (
        f"parts of the altered version that look the same as in the original are written as there ({typed_with(altered, given)}; "
        f"{_first_difference(altered, given)})"
    )
    return Texts(markup, original, altered, read_as=(said,))


def _first_difference(one: str, other: str) -> str:
    """Where the other leaves the one."""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
    return _place(other, *place(other, at))


def _marked(cells: Cells, markup: str, original: str, altered: str) -> Texts:
    try:
        abstract = parse(markup)
        if original and (abstract.original, abstract.altered) != (original, altered):
            abstract = parse(markup, original, altered)
    except MarkupError as alone:
        error = alone
    else:
        return _checked(cells, markup, abstract)
    # The markup alone does not do: it is settled by its versions, or as the published files were made
    if original:
        try:
            abstract = parse(markup, original, altered)
            return _checked(cells, render(abstract.segments), abstract)
        except MarkupError as mismatch:
            error = mismatch
        if folded(cells.columns.get("markup", "")) == folded(COMBINED):
            as_published = repair.published_markup(markup, original, altered)
            if as_published is not None:
                return Texts(as_published, original, altered, is_damaged=True)
    cells.fail("markup", f"{error.reason}; {_place(markup, error.line, error.column)}")
    return Texts()


def _checked(cells: Cells, markup: str, abstract: Abstract) -> Texts:
    if abstract.original == abstract.altered:
        cells.fail("markup", "both versions are the same")
        return Texts()
    for finding in check_looks(abstract):
        if finding.level == Level.ERROR:
            cells.fail("markup", f"{finding.message}: “{finding.quote}”")
            return Texts()
    return Texts(markup, abstract.original, abstract.altered)


def _place(text: str, line: int, column: int) -> str:
    written = text.split("\n")[line - 1]
    near = written[max(0, column - 1 - _CONTEXT // 3) : column - 1 + _CONTEXT]
    of = f"line {line} of the text" if "\n" in text else "the text"
    return f"character {column} of {of}: “{visible(near)}”"
