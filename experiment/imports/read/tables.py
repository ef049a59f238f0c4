"""Reads a published file's rows and names every problem by file and line. Knows nothing of what they mean."""

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from lib import names
from lib.files import read_regular
from lib.tables import shown


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that keeps an import from being done; `line` counts from 1, `row` (of data) from 0."""

    file: str
    message: str
    line: int | None = None
    row: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        row = "" if self.row is None else f", row {self.row}"
        column = "" if self.column is None else f", column “{self.column}”"
        return f"{self.file}{line}{row}{column}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"text": str(self)}


@dataclass(frozen=True, slots=True)
class Row:
    """One record: where it begins, and its cells by column."""

    file: str
    line: int
    number: int
    cells: Mapping[str, str]

    def problem(self, message: str, column: str | None = None) -> Problem:
        return Problem(self.file, message, self.line, self.number, column)


def read_table(
    root: Path,
    name: str,
    columns: Sequence[str],
    problems: list[Problem],
    *,
    delimiter: str = ",",
    quoted: bool = True,
) -> list[Row]:
    """The rows of a CSV file that has at least `columns`; what is wrong is added to `problems`.

    With `quoted=False` quotation marks are ordinary and a line may hold more cells than the header, as in
    a file that was written without quoting.
    """
    text = _read_text(root, name, problems)
    if text is None:
        return []
    stream = io.StringIO(text, newline="")
    reader = csv.reader(
        stream,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    rows: list[Row] = []
    try:
        header = next(reader, [])
        missing = [
            column or "(the unnamed first column)" for column in columns if column not in header
        ]
        if missing:
            problems.append(Problem(name, f"lacks the column {', '.join(missing)}", 1))
            return []
        line, number = reader.line_num + 1, 0
        for cells in reader:
            if cells:
                row = Row(name, line, number, dict(zip(header, cells, strict=False)))
                if len(cells) == len(header) or (not quoted and len(cells) > len(header)):
                    rows.append(row)
                else:
                    problems.append(
                        row.problem(f"has {len(cells)} cells, but the header has {len(header)}")
                    )
                number += 1
            line = reader.line_num + 1
    except csv.Error as error:
        problems.append(
            Problem(name, f"cannot be read as CSV from here on: {error}", reader.line_num)
        )
    return rows


def _read_text(root: Path, name: str, problems: list[Problem]) -> str | None:
    try:
        data = read_regular(root / name)
        text = data.decode("utf-8-sig")
    except OSError as error:
        problems.append(Problem(name, f"cannot be opened: {error.strerror or error}"))
        return None
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 text (byte 0x{data[error.start]:02x})"
        problems.append(Problem(name, message, data.count(b"\n", 0, error.start) + 1))
        return None
    if "\0" in text:
        # PostgreSQL cannot store it, and no text means it.
        problems.append(
            Problem(name, "contains a NUL character", text.count("\n", 0, text.index("\0")) + 1)
        )
        return None
    return text


class Cells:
    """Reads a row's cells as values; a cell that cannot be read becomes a problem and None."""

    def __init__(self, row: Row, problems: list[Problem]) -> None:
        self.row, self.problems = row, problems

    def fail(self, column: str, expected: str) -> None:
        value = self.row.cells[column]
        self.problems.append(self.row.problem(f"{shown(value)} is not {expected}", column))

    def whole(self, column: str, low: int, high: int) -> int | None:
        """A whole number, also where it was written like 34.0."""
        match = re.fullmatch(r"([0-9]{1,15})(\.0)?", self.row.cells[column])
        if match and low <= int(match[1]) <= high:
            return int(match[1])
        self.fail(column, f"a whole number from {low} to {high}")
        return None

    def number(self, column: str, low: float, high: float) -> str | None:
        """A number, as it was written."""
        value = self.row.cells[column]
        if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", value) and low <= float(value) <= high:
            return value
        self.fail(column, f"a number from {low} to {high}")
        return None

    def level(self, column: str, levels: Mapping[str, str]) -> str | None:
        """The code of a level."""
        code = levels.get(self.row.cells[column])
        if code is None:
            self.fail(column, f"one of the known levels ({', '.join(map(repr, levels))})")
        return code

    def flag(self, column: str) -> bool | None:
        value = {"0": False, "1": True}.get(self.row.cells[column])
        if value is None:
            self.fail(column, "0 or 1")
        return value

    def doi(self, column: str) -> str | None:
        """A DOI without the resolver's address."""
        match = re.fullmatch(
            r"(?:https?://(?:dx\.)?doi\.org/)?(10\.[0-9]{4,9}/\S{1,180})", self.row.cells[column]
        )
        if match is None or names.fault(match[1]):
            self.fail(column, "a DOI")
            return None
        return match[1]


# What NumPy raises at files that are damaged, cut short, pickled, or claim to be larger than memory
UNREADABLE = (
    *(OSError, ValueError, TypeError, EOFError, MemoryError, SyntaxError, TokenError),
    BadZipFile,
)


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An array and the file it came from."""

    name: str
    sha256: str
    values: npt.NDArray[Any]


def read_array(root: Path, name: str, problems: list[Problem]) -> ArrayFile | None:
    """The one array that a file holds; what keeps it from being read is added to `problems`."""
    try:
        data = read_regular(root / name)
        values = np.load(io.BytesIO(data), allow_pickle=False)
    except UNREADABLE as error:
        problems.append(Problem(name, f"cannot be read: {error}"))
        return None
    if not isinstance(values, np.ndarray):
        problems.append(Problem(name, "is an archive, not a single array"))
        return None
    return ArrayFile(name, hashlib.sha256(data).hexdigest(), values)
