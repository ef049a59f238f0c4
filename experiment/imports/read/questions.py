"""Questions of a file, in our own form or the published one: what each row says; and a template of questions as TOML."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from experiment.domain.looks import looks
from experiment.domain.questions import columns, made_from
from experiment.domain.questions.columns import (
    Categories,
    CategoriesError,
    checked,
    dimension_of,
    join,
    split,
)
from experiment.imports.read.records import (
    Cells,
    ColumnsError,
    Record,
    RecordsFile,
    as_problems,
    names_of,
)
from experiment.imports.read.rows import (
    MOST_ROWS,
    FileRefusedError,
    RowProblem,
    TextRow,
    read_rows,
    text_of,
)
from lib.tables import shown


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
        return ("key", self.key) if self.key else ("question", looks(self.markup))


QuestionsFile = RecordsFile[QuestionRecord]


# What a column may be called, and what it holds
NAMES = {name: name for name in (*columns.OWN, columns.NOTE, columns.MADE_FROM)} | columns.PUBLISHED
# What other people's names of the columns that have to be there are made of
WORDS = {
    "answer": "answer answers response reference output target solution",
    "question": "question questions prompt query input instruction text",
}


@as_problems
def read_questions(
    data: bytes,
    chosen: Mapping[str, str] = MappingProxyType({}),
    most: int = MOST_ROWS,
    sheet: str = "",
) -> QuestionsFile:
    """The questions of a file's bytes; one problem, of no row, where they are no such file.

    chosen: our name of a column, and what the file calls it. most: rows.
    """
    table = read_rows(data, [*NAMES, *chosen.values()], most, sheet)
    names = names_of(table.columns, NAMES, chosen, WORDS)
    for wanted in ("question", "answer"):
        if wanted not in names.values():
            raise ColumnsError(f"The file has no column “{wanted}”", table.columns, WORDS)
    dimensions: dict[str, str] = {}
    for column in table.columns:
        if column not in names and (name := dimension_of(column)):
            if fault := columns.dimension_fault(name):
                raise FileRefusedError(f"The column {shown(column)}: its dimension {fault}.")
            dimensions[name + columns.DIMENSION] = name
            names[column] = name + columns.DIMENSION
    problems = list(table.problems)
    records = [r for row in table.rows if (r := _record(row, names, dimensions, problems))]
    ignored = [name for name in table.columns if names.get(name, "status") in columns.NOT_READ]
    return QuestionsFile.of(records, ignored, problems)


def _record(
    row: TextRow,
    names: Mapping[str, str],
    dimensions: Mapping[str, str],
    problems: list[RowProblem],
) -> QuestionRecord | None:
    """The record of a row; None where something is wrong with it."""
    longest = columns.LONGEST | dict.fromkeys(dimensions, columns.LONGEST_CATEGORIES)
    read = Cells(row, names, longest)
    question, answer = _text(read, "question"), _text(read, "answer")
    categories: dict[str, list[str]] = {}
    otherwise: dict[str, str] = {}  # cells that we would write otherwise: an export gives them back
    for column, dimension in dimensions.items():
        if column not in read.given():
            continue  # JSON lines need not have the same columns: what a row does not have it says nothing of
        categories[dimension] = split(read.text(column))
        for name in categories[dimension]:
            if fault := columns.category_fault(name):
                read.fail(column, f"the category {shown(name)} {fault}")
        cell = read.cell(column)
        if cell != join(split(cell)):
            otherwise[dimension] = cell
    template = read.name("template")
    source: dict[str, Any] = {}
    try:
        source |= made_from.read(read.cell(columns.MADE_FROM))
    except made_from.SourceError as error:
        read.fail(columns.MADE_FROM, str(error))
    record = QuestionRecord(
        markup=question,
        answer=answer,
        categories=categories,
        template=template,
        made_from=source | ({"cells": otherwise} if otherwise else {}),
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
        raise FileRefusedError(f"The template is not TOML: {error}.") from error
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
        raise FileRefusedError(f"The template does not have a text “{name}”.")
    return found
