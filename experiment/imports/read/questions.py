"""Questions of a file, in our own form or the published one: what each row says; and a template of questions as TOML."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiment.domain.questions import columns, made_from
from experiment.domain.questions.columns import (
    Categories,
    CategoriesError,
    checked,
    dimension_of,
    join,
    split,
)
from experiment.imports.read.records import Cells, Record, RecordsFile, read_file
from experiment.imports.read.rows import (
    FileRefusedError,
    RowProblem,
    TextRow,
    quoted,
    read_rows,
    text_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRecord(Record):
    """Its markup is the question; of categories `given` holds the dimension's column.

    template: its key. made_from: as Item.made_from.
    """

    answer: str
    categories: Categories = field(default_factory=dict)
    template: str = ""
    made_from: Mapping[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> str:
        return self.markup

    @property
    def identity(self) -> tuple[str, ...]:
        return ("key", self.key) if self.key else ("question", self.markup)


QuestionsFile = RecordsFile[QuestionRecord]


def read_questions(data: bytes) -> QuestionsFile:
    """The questions of a file's bytes; one problem, of no row, where they are no such file."""
    return read_file(lambda: _read(data))


def _read(data: bytes) -> QuestionsFile:
    every = (*columns.OWN, columns.NOTE, columns.MADE_FROM)
    table = read_rows(data, {*every, *columns.PUBLISHED})
    names = columns.PUBLISHED if columns.MARK in table.columns else {name: name for name in every}
    for wanted in ("question", "answer"):
        if wanted not in table.columns:
            there = ", ".join(map(quoted, table.columns)) or "none"
            raise FileRefusedError(f"The file has no column “{wanted}” (columns: {there}).")
    dimensions = {column: name for column in table.columns if (name := dimension_of(column))}
    for column, name in dimensions.items():
        if fault := columns.dimension_fault(name):
            raise FileRefusedError(f"The column {quoted(column)}: its dimension {fault}.")
    problems = list(table.problems)
    records = [r for row in table.rows if (r := _record(row, names, dimensions, problems))]
    ignored = [
        name
        for name in table.columns
        if name not in dimensions and names.get(name, "status") in columns.NOT_READ
    ]
    return QuestionsFile.of(records, ignored, problems)


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
    given = {column: name for column, name in dimensions.items() if column in row.cells}
    record = QuestionRecord(
        markup=_text(read, "question"),
        answer=_text(read, "answer"),
        categories={name: _categories(read, column) for column, name in given.items()},
        template=read.name("template"),
        made_from=_source(read, names) | _as_written(row, given),
        **read.common(),
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


@dataclass(frozen=True, slots=True)
class TemplateFile:
    key: str
    question: str
    rules: Sequence[Mapping[str, str]]
    categories: Categories


def read_template(data: bytes) -> TemplateFile:
    """
    Raises:
        FileRefusedError: it is no such file.

    >>> read_template(b'key = "a"\\nquestion = "Q?"\\n[[rules]]\\nanswer = "A."').rules
    [{'when': '', 'answer': 'A.'}]
    """
    try:
        read = tomllib.loads(text_of(data))
    except tomllib.TOMLDecodeError as error:
        raise FileRefusedError(f"The template is no TOML: {error}.") from error
    rules, categories = read.get("rules", []), read.get("categories", {})
    is_right = (
        isinstance(rules, list)
        and all(isinstance(rule, dict) and {*rule} <= {"when", "answer"} for rule in rules)
        and isinstance(categories, dict)
        and all(isinstance(found, list) for found in categories.values())
    )
    if not is_right:
        raise FileRefusedError(
            "The template has rules, each with when and answer, and categories, each a list."
        )
    try:
        named = checked({name: list(map(str, found)) for name, found in categories.items()})
    except CategoriesError as error:
        raise FileRefusedError(f"The template's categories: {error}.") from error
    return TemplateFile(
        _member(read, "key"),
        _member(read, "question"),
        [{"when": _member(r, "when", ""), "answer": _member(r, "answer")} for r in rules],
        named,
    )


def _member(read: Mapping[str, Any], name: str, default: str | None = None) -> str:
    found = read.get(name, default)
    if not isinstance(found, str):
        raise FileRefusedError(f"The template has no text “{name}”.")
    return found
