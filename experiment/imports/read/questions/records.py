"""Questions of a file: what each row says, checked by itself and against the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiment.domain.item_checks.characters import visible
from experiment.domain.questions import columns, made_from
from experiment.domain.questions.columns import Categories, dimension_of, join, split
from experiment.imports.read.items.cells import Cells
from experiment.imports.read.items.contents import FileRefusedError
from experiment.imports.read.items.problems import RowProblem, quoted
from experiment.imports.read.items.tables import TextRow
from experiment.imports.read.questions.rows import read_rows


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A row. `given`: the columns that it has, in our names; of categories the dimension.

    version: that the row was taken from, 0 where it does not say. template: its key. made_from: as Item.made_from.
    """

    row: int
    line: int
    given: frozenset[str]
    question: str
    answer: str
    categories: Categories = field(default_factory=dict)
    key: str = ""
    version: int = 0
    template: str = ""
    source: str = "human"
    generator: str = ""
    subfield: str = ""
    doi: str = ""
    note: str = ""
    made_from: Mapping[str, Any] = field(default_factory=dict)

    def problem(self, message: str, column: str | None = None) -> RowProblem:
        return RowProblem(message, self.row, self.line, column)


@dataclass(frozen=True)
class QuestionsFile:
    """What a file holds. `ignored` columns are not read; nothing is to be stored while there are problems."""

    records: Sequence[QuestionRecord] = ()
    ignored: Sequence[str] = ()
    problems: list[RowProblem] = field(default_factory=list)


def read_questions(data: bytes) -> QuestionsFile:
    """The questions of a file's bytes; one problem, of no row, where they are no such file."""
    try:
        return _read(data)
    except FileRefusedError as error:
        return QuestionsFile(problems=[RowProblem(str(error))])


def _read(data: bytes) -> QuestionsFile:
    table = read_rows(data, {*columns.OWN, *columns.PUBLISHED, columns.NOTE, columns.MADE_FROM})
    names = columns.PUBLISHED if columns.MARK in table.columns else _own()
    for wanted in ("question", "answer"):
        if wanted not in table.columns:
            there = ", ".join(map(quoted, table.columns)) or "none"
            raise FileRefusedError(f"The file has no column “{wanted}” (columns: {there}).")
    found = {column: name for column in table.columns if (name := dimension_of(column))}
    for column, name in found.items():
        if fault := columns.dimension_fault(name):
            raise FileRefusedError(f"The column {quoted(column)}: its dimension {fault}.")
    problems = list(table.problems)
    records = [r for row in table.rows if (r := _record(row, names, found, problems))]
    _check_twice(records, problems)
    ignored = [
        visible(name)
        for name in table.columns
        if name not in found and names.get(name, "status") in columns.NOT_READ
    ]
    problems.sort(key=lambda problem: problem.row or 0)
    return QuestionsFile(records, ignored, problems)


def _own() -> dict[str, str]:
    return {name: name for name in (*columns.OWN, columns.NOTE, columns.MADE_FROM)}


def _record(
    row: TextRow,
    names: Mapping[str, str],
    dimensions: Mapping[str, str],
    problems: list[RowProblem],
) -> QuestionRecord | None:
    """The record of a row; None where something is wrong with it."""
    every = {**names, **{column: column for column in dimensions}}
    longest = columns.LONGEST | dict.fromkeys(dimensions, columns.LONGEST_CATEGORIES)
    read = Cells(row, every, longest)
    # JSON lines need not have the same columns: what a row does not have it says nothing of
    own = {column: name for column, name in dimensions.items() if column in row.cells}
    categories = {name: _categories(read, column) for column, name in own.items()}
    record = QuestionRecord(
        row=row.row,
        line=row.line,
        given=frozenset(every[name] for name in row.cells if name in every),
        question=_text(read, "question"),
        answer=_text(read, "answer"),
        categories=categories,
        key=read.key(),
        version=read.version(),
        template=read.name("template"),
        source=read.source("human"),
        generator=read.name("generator"),
        subfield=read.name("subfield"),
        doi=read.doi(),
        note=read.text("note", strip=False),
        made_from=_source(read, names) | _as_written(row, own),
    )
    problems += read.problems
    return None if read.problems else record


def _text(read: Cells, name: str) -> str:
    """Kept as it stands, white space at its ends included."""
    failed = len(read.problems)
    text = read.text(name, strip=False)
    if not text.strip() and len(read.problems) == failed:
        read.fail(name, "is empty")
    return text


def _categories(read: Cells, column: str) -> list[str]:
    found = split(read.text(column))
    for name in found:
        if fault := columns.category_fault(name):
            read.fail(column, f"the category {quoted(name)} {fault}")
    return found


def _source(read: Cells, names: Mapping[str, str]) -> dict[str, Any]:
    if columns.MADE_FROM not in names:
        return {}
    try:
        return made_from.read(read.row.cells.get(columns.MADE_FROM, ""))
    except made_from.SourceError as error:
        read.fail(columns.MADE_FROM, str(error))
        return {}


def _as_written(row: TextRow, dimensions: Mapping[str, str]) -> dict[str, Any]:
    """Cells of categories that are written otherwise than we would, so that an export gives them back."""
    cells = {name: row.cells[column] for column, name in dimensions.items()}
    other = {name: cell for name, cell in cells.items() if cell != join(split(cell))}
    return {"cells": other} if other else {}


def _check_twice(records: Sequence[QuestionRecord], problems: list[RowProblem]) -> None:
    """A question stands in a file once: by its key, or by its text."""
    seen: dict[tuple[str, str], QuestionRecord] = {}
    for record in records:
        identity = ("key", record.key) if record.key else ("question", record.question)
        first = seen.setdefault(identity, record)
        if first is not record:
            problems.append(
                record.problem(
                    f"{quoted(identity[1])} stands in row {first.row} already", identity[0]
                )
            )
