"""Rows of a CSV file or of JSON lines, as texts by column. Knows nothing of what the columns mean."""

import csv
import io
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiment.imports.read.items.contents import FileRefusedError
from experiment.imports.read.items.problems import RowProblem, quoted
from lib.formulas import unguarded
from lib.newlines import with_unix_newlines

DELIMITERS = (",", ";", "\t")
MAX_FIELD = 2**31 - 1  # the csv module's own limit would end at 131,072 characters


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row: its number among the rows of data, the line where it begins (both from 1), and its cells by column."""

    row: int
    line: int
    cells: Mapping[str, str]

    def problem(self, message: str, column: str | None = None) -> RowProblem:
        return RowProblem(message, self.row, self.line, column)


@dataclass
class Table:
    """columns: in the order in which they come first."""

    columns: Sequence[str] = ()
    rows: list[TextRow] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)


def read_table(text: str, known: Collection[str], *, with_numbers: bool = False) -> Table:
    """The rows of a text, JSON lines or CSV; `known` columns decide what separates the cells.

    with_numbers: whether JSON may hold fractions and truth values too, which become what is written there.

    Raises:
        FileRefusedError: it is a JSON array, or columns have the same name.
    """
    first = text.lstrip()[0]
    if first == "[":
        raise FileRefusedError(
            "The file is a JSON array: write one object a line, without commas between them (JSONL)."
        )
    table = _read_json_lines(text, with_numbers) if first == "{" else _read_csv(text, known)
    last = max((problem.row or 0 for problem in table.problems), default=0)
    while table.rows and table.rows[-1].row > last and not any(table.rows[-1].cells.values()):
        table.rows.pop()  # as spreadsheets leave them
    for row in table.rows:
        if not any(row.cells.values()):
            table.problems.append(row.problem("the row is empty"))
    table.rows = [row for row in table.rows if any(row.cells.values())]
    return table


def _read_csv(text: str, known: Collection[str]) -> Table:
    csv.field_size_limit(MAX_FIELD)
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=_delimiter(text, known), strict=True
    )
    table, number, line = Table(), 1, 1
    try:
        table.columns = _columns(next(lines))
        line = lines.line_num + 1
        for cells in lines:
            if cells:
                _add(table, number, line, cells)
                number += 1
            line = lines.line_num + 1
    except csv.Error as error:
        # A quotation mark that is not closed is found out at the end of the file
        message = f"cannot be read as CSV from here on ({error}): is a quotation mark not doubled or not closed?"
        table.problems.append(RowProblem(message, number, line))
    return table


def _delimiter(text: str, known: Collection[str]) -> str:
    """What gives the most known columns."""
    header = text.lstrip("\n").partition("\n")[0]
    return max(
        DELIMITERS, key=lambda mark: sum(_name(cell) in known for cell in header.split(mark))
    )


def _name(cell: str) -> str:
    return cell.strip().strip('"').strip().casefold()


def _columns(header: Sequence[str]) -> list[str]:
    columns = [_name(cell) or f"(column {n} without a name)" for n, cell in enumerate(header, 1)]
    repeated = [quoted(name) for name, n in Counter(columns).items() if n > 1]
    if repeated:
        raise FileRefusedError(f"Several columns have the same name: {', '.join(repeated)}.")
    return columns


def _add(table: Table, number: int, line: int, cells: list[str]) -> None:
    row = TextRow(number, line, dict(zip(table.columns, map(unguarded, cells), strict=False)))
    if len(cells) == len(table.columns) or not any(cells):
        table.rows.append(row)
    else:
        beginning = f"it begins with {quoted(cells[0])}"
        message = f"has {len(cells)} cells where the header has {len(table.columns)}; {beginning}"
        table.problems.append(row.problem(message))


def _read_json_lines(text: str, with_numbers: bool) -> Table:
    table = Table()
    columns: dict[str, None] = {}
    lines = [(n, written) for n, written in enumerate(text.split("\n"), 1) if written.strip()]
    for number, (line, written) in enumerate(lines, start=1):
        try:
            cells = _members(written, with_numbers)
        except (ValueError, RecursionError) as error:
            message = f"{error}; the line begins with {quoted(written)}"
            table.problems.append(RowProblem(message, number, line))
        else:
            table.rows.append(TextRow(number, line, cells))
            columns |= dict.fromkeys(cells)
    table.columns = list(columns)
    return table


def _members(written: str, with_numbers: bool) -> dict[str, str]:
    """Names and texts of an object; null is an empty text, and a whole number its digits."""
    try:
        number = str if with_numbers else float
        found: Any = json.loads(written, object_pairs_hook=list, parse_float=number)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON (character {error.colno}: {error.msg})") from error
    if not written.lstrip().startswith("{"):
        raise ValueError("a line must hold an object, {…}")
    cells: dict[str, str] = {}
    for name, value in found:
        if _name(name) in cells:
            raise ValueError(f"{quoted(name)} stands twice in the object")
        if with_numbers and isinstance(value, bool):
            value = json.dumps(value)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise ValueError(f"{quoted(name)} holds no text")
        cells[_name(name)] = "" if value is None else with_unix_newlines(str(value))
    return cells
