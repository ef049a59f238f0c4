"""Test cases of a file: what each row says, checked by itself and against the others."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from experiment.domain.item_checks.characters import visible
from experiment.domain.item_columns import NOT_READ, OWN, PUBLISHED, VERSIONS
from experiment.imports.read.items import cells
from experiment.imports.read.items.contents import FileRefusedError, text_of
from experiment.imports.read.items.problems import RowProblem, quoted
from experiment.imports.read.items.tables import TextRow, read_table
from experiment.imports.read.items.texts import read_text

MARK = "combined_abstract"  # a column that only the published files have


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for rows of a file that has no such column, or an empty cell in it."""

    source: str = "human"
    generator: str = ""


BY_PEOPLE = Defaults()


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """A row. `given`: the columns that the file has, in our names; what it does not have is as for a new test case.

    version: that the row was taken from, 0 where it does not say. markup: gives exactly `original` and `altered`.
    is_damaged: its published versions are not what its published markup says.
    """

    row: int
    line: int
    given: frozenset[str]
    markup: str
    original: str
    altered: str
    key: str = ""
    version: int = 0
    kind: str = "test"
    source: str = "human"
    generator: str = ""
    subfield: str = ""
    doi: str = ""
    publication_date: date | None = None
    note: str = ""
    is_damaged: bool = False

    def problem(self, message: str, column: str | None = None) -> RowProblem:
        return RowProblem(message, self.row, self.line, column)


@dataclass(frozen=True)
class ItemsFile:
    """What a file holds. `ignored` columns are not read; nothing is to be stored while there are problems."""

    records: Sequence[ItemRecord] = ()
    ignored: Sequence[str] = ()
    problems: list[RowProblem] = field(default_factory=list)


def read_items(data: bytes, defaults: Defaults = BY_PEOPLE) -> ItemsFile:
    """The test cases of a file's bytes, CSV or JSON lines; one problem, of no row, where they are no such file."""
    try:
        return _read(data, defaults)
    except FileRefusedError as error:
        return ItemsFile(problems=[RowProblem(str(error))])


def _read(data: bytes, defaults: Defaults) -> ItemsFile:
    table = read_table(text_of(data), {*OWN, *VERSIONS, *PUBLISHED})
    names = PUBLISHED if MARK in table.columns else {name: name for name in (*OWN, *VERSIONS)}
    read = {name for column, name in names.items() if column in table.columns}
    if not ("markup" in read or {*VERSIONS} <= read):
        there = ", ".join(map(quoted, table.columns)) or "none"
        raise FileRefusedError(
            f"The file has no column “markup”, and not both “original” and “altered” (columns: {there})."
        )
    problems = list(table.problems)
    records = [r for row in table.rows if (r := _record(row, names, defaults, problems))]
    _check_twice(records, problems)
    ignored = [visible(name) for name in table.columns if names.get(name, "status") in NOT_READ]
    problems.sort(key=lambda problem: problem.row or 0)
    return ItemsFile(records, ignored, problems)


def _record(
    row: TextRow, names: dict[str, str], defaults: Defaults, problems: list[RowProblem]
) -> ItemRecord | None:
    """The record of a row; None where something is wrong with it."""
    read = cells.Cells(row, names)
    found = read_text(read)
    record = ItemRecord(
        row=row.row,
        line=row.line,
        given=frozenset(names[name] for name in row.cells if name in names),
        markup=found.markup,
        original=found.original,
        altered=found.altered,
        is_damaged=found.is_damaged,
        key=read.key(),
        version=read.version(),
        kind=read.kind(),
        source=read.source(defaults.source),
        generator=read.name("generator") or defaults.generator,
        subfield=read.name("subfield"),
        doi=read.doi(),
        publication_date=read.date(),
        note=read.text("note", strip=False),
    )
    problems += read.problems
    return None if read.problems else record


def _check_twice(records: Sequence[ItemRecord], problems: list[RowProblem]) -> None:
    """A test case stands in a file once: by its key, or by its texts and source."""
    seen: dict[tuple[str, ...], ItemRecord] = {}
    for record in records:
        identity = (
            ("key", record.key) if record.key else (record.source, record.original, record.altered)
        )
        first = seen.setdefault(identity, record)
        if first is not record:
            what, column = (
                (quoted(record.key), "key") if record.key else ("the same text", "markup")
            )
            problems.append(record.problem(f"{what} stands in row {first.row} already", column))
