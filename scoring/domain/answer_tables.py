"""Reads answers that a model gave elsewhere from a table: a row becomes the object that a line of JSON would hold. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from experiment.imports.read.rows import FileRefusedError, read_known
from lib.tables import listed, named

ENDINGS = (".csv", ".tsv", ".xlsx", ".ods", ".parquet")
NUMBERS = frozenset(
    {
        "version",
        "sample",
        "confidence",
        "log_odds",
        "seconds",
        "prompt_tokens",
        "completion_tokens",
    }
)
ANSWER = "answer"  # its empty cell says that the model wrote nothing; any other one says nothing


@dataclass(frozen=True, slots=True)
class TableRow:
    """place: its sheet, row and line. fault: why the row could not be read, in words that go on after the place."""

    place: str
    values: Mapping[str, str | int | float]
    fault: str = ""


def is_table(name: str) -> bool:
    """By the ending of a file's name.

    >>> is_table("Answers.XLSX"), is_table("answers.jsonl")
    (True, False)
    """
    return name.lower().endswith(ENDINGS)


def table_rows(
    data: bytes, columns: Sequence[str], needed: Sequence[str], sheet: str = ""
) -> list[TableRow]:
    """The rows of any kind of table that an import of test cases takes, with those of `columns` that hold something.

    Raises:
        ValueError: it is no table, a `needed` column is missing, or one of several sheets has to be named; in words that go on
            after its name.
    """
    try:
        table = read_known(data, {name: name for name in columns}, sheet=sheet)
    except FileRefusedError as error:
        raise ValueError(str(error).rstrip(".")) from error
    there = {*named(table.columns, {name: name for name in columns}).values()}
    if missing := [name for name in needed if name not in there]:
        raise ValueError(
            f"it has no column {listed(missing)} (columns: {listed(table.columns) or 'none'})"
        )
    unread = [TableRow(problem.place, {}, problem.message) for problem in table.problems]
    # An empty cell is a value that was not given, except for an answer
    read = [
        {
            name: _number(cell.strip()) if name in NUMBERS else cell
            for name in there
            if (cell := row.cells[name]).strip() or name == ANSWER
        }
        for row in table.rows
    ]
    return unread + [
        TableRow(row.problem("").place, values)
        for row, values in zip(table.rows, read, strict=True)
    ]


def _number(cell: str) -> str | int | float:
    """A cell without a number stays a text, which is refused where it is used.

    >>> _number("0.80"), _number("2.0"), _number("high")
    (0.8, 2, 'high')
    """
    try:
        number = float(cell)
    except ValueError:
        return cell
    if not isfinite(number):
        return cell
    return int(number) if number.is_integer() else number
