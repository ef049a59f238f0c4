"""Files that somebody gives: CSV, JSON lines, Parquet or spreadsheets as rows of texts by column. Knows nothing of what the columns mean."""

import io
import json
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from pathlib import Path
from typing import Any

from lib.files import read_regular
from lib.formulas import unguarded
from lib.newlines import with_unix_newlines
from lib.spreadsheets import SheetsError, SpreadsheetError, is_spreadsheet, read_sheet
from lib.tables import TableReader, decoded, named, same_name, shown

MAX_BYTES = 256 * 1024 * 1024
PARQUET = b"PAR1"
# How files begin that are often taken for a table
KINDS = {
    b"PK\x03\x04": "a zip file or a spreadsheet, but a text is needed",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document, but a text is needed",
    b"\x1f\x8b": "compressed with gzip. Unpack it first",
    b"%PDF": "a PDF",
}
# Control characters that texts have
IN_TEXTS = frozenset(b"\t\n\v\f\r\x1a\x1b")
MOST_ROWS, MOST_COLUMNS = 200_000, 1_000
MOST_OF_PAGE = 20_000  # rows that a page looks at; more are for a command
MOST_CELLS = 4_000_000  # of Parquet, where one value can stand for many rows
LONGEST_NAME = 1_000  # characters, of a column


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A problem that keeps a file from being imported.

    row: of data, from 1: the line of column names is none; of a sheet, as its program numbers it. line: of the file, from 1,
    where the row begins; None of a sheet. Both None where it is about the whole file. sheet: the name of a spreadsheet's sheet.
    """

    message: str
    row: int | None = None
    line: int | None = None
    column: str | None = None
    sheet: str = ""

    @property
    def place(self) -> str:
        """Empty where it is about the whole file.

        >>> RowProblem("is empty", 3, None, "key", "2024").place
        'sheet “2024”, row 3, column “key”'
        """
        sheet = self.sheet and f"sheet {shown(self.sheet)}"
        row = "" if self.row is None else f"row {self.row}"
        line = "" if self.line is None else f"line {self.line}"
        column = "" if self.column is None else f"column “{self.column}”"
        return ", ".join(part for part in (sheet, row, line, column) if part)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class FileRefusedError(Exception):
    """The file cannot be read at all; the message says why."""


class ChooseSheetError(FileRefusedError):
    """The file is a spreadsheet, one of whose `sheets` has to be chosen."""

    def __init__(self, message: str, sheets: Sequence[str]) -> None:
        super().__init__(message, tuple(sheets))
        self.message, self.sheets = message, tuple(sheets)

    def __str__(self) -> str:
        return self.message


def read_content(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises:
        FileRefusedError: it is none, too large, or no Parquet file though its name says so.
    """
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise FileRefusedError(f"{path} is a folder. Name a file.")
        if not stat.S_ISREG(about.st_mode):
            # A pipe would be waited for, and a device never ends
            raise FileRefusedError(f"{path} is not a regular file.")
        if about.st_size > MAX_BYTES:
            raise FileRefusedError(f"{path} has more than {MAX_BYTES // 2**20} MB. Split it.")
        data = read_regular(path, MAX_BYTES)
    except FileNotFoundError as error:
        where = "is a broken link" if path.is_symlink() else "does not exist"
        raise FileRefusedError(f"{path} {where}.") from error
    except OSError as error:
        raise FileRefusedError(f"{path} cannot be read: {error.strerror or error}.") from error
    if path.suffix.casefold() == ".parquet" and data and not data.startswith(PARQUET):
        raise FileRefusedError(f"{path} is not a Parquet file, or is damaged. Write it again.")
    return data


def text_of(data: bytes) -> str:
    """The text, its line breaks as in Unix.

    Raises:
        FileRefusedError: the file is empty, of another kind, or neither UTF-8 nor UTF-16 with its mark.
    """
    for beginning, what in KINDS.items():
        if data.startswith(beginning):
            raise FileRefusedError(f"The file is {what}.")
    try:
        text = decoded(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if any(byte < 32 and byte not in IN_TEXTS for byte in data[:1_000]):
            raise FileRefusedError(
                f"The file is not text: byte 0x{data[error.start]:02x} in line {line}. Write it again as CSV or JSONL."
            ) from error
        before = data[max(0, error.start - 20) : error.start].decode("ascii", "replace")
        where = f"after “{before}”" if before.strip() else "at its beginning"
        raise FileRefusedError(
            f"The file is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}, {where}. "
            "Save it as “CSV UTF-8”."
        ) from error
    if not text.strip():
        raise FileRefusedError("The file is empty.")
    return with_unix_newlines(text)


@dataclass(frozen=True, slots=True)
class TextRow:
    """A row: its number, the line where it begins and its sheet, as of `RowProblem`, and its cells by column."""

    row: int
    line: int | None
    cells: Mapping[str, str]
    sheet: str = ""

    def problem(self, message: str, column: str | None = None) -> RowProblem:
        return RowProblem(message, self.row, self.line, column, self.sheet)


@dataclass
class Table:
    """columns: in the order in which they come first."""

    columns: Sequence[str] = ()
    rows: list[TextRow] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)


# What R writes: texts and names of columns in quotation marks, and NA without them where there is nothing
_QUOTED_NAMES = re.compile(r'(?:"[^"\n]*"[,;\t]?)+\n')
_QUOTED_OR_NA = re.compile(r'"[^"]*"|(?<![^,;\t\n])NA(?![^,;\t\n])')


def _without_na(text: str) -> str:
    """The text with empty cells where R writes that there is nothing; a text NA, such as Namibia's code, stays.

    >>> _without_na('"a","b"\\n"NA",NA\\n'), _without_na('a,b\\nNA,NA\\n')
    ('"a","b"\\n"NA",\\n', 'a,b\\nNA,NA\\n')
    """
    if not _QUOTED_NAMES.match(text):
        return text
    return _QUOTED_OR_NA.sub(lambda found: "" if found[0] == "NA" else found[0], text)


def _read_csv(text: str, known: Sequence[str]) -> Table:
    text, table = _without_na(text), Table()

    def number() -> int:
        return len(table.rows) + len(table.problems) + 1

    def refuse(line: int, message: str) -> None:
        if not table.columns:
            raise FileRefusedError(f"Line {line}: {message}.")
        table.problems.append(RowProblem(message, number(), line))

    reader = TableReader(io.StringIO(text, newline=""), refuse, known)
    table.columns = [unguarded(name).casefold() for name in reader.columns]
    _check_columns(table.columns)
    for cells in reader:
        texts = dict(zip(table.columns, map(unguarded, cells), strict=True))
        table.rows.append(TextRow(number(), reader.first_line, texts))
    return table


def _read_json_lines(text: str) -> Table:
    table = Table()
    columns: dict[str, None] = {}
    lines = [(n, written) for n, written in enumerate(text.split("\n"), 1) if written.strip()]
    for number, (line, written) in enumerate(lines, start=1):
        try:
            cells = _members(written)
        except (ValueError, RecursionError) as error:
            message = f"{error}; the line begins with {shown(written)}"
            table.problems.append(RowProblem(message, number, line))
        else:
            table.rows.append(TextRow(number, line, cells))
            columns |= dict.fromkeys(cells)
    table.columns = list(columns)
    return table


def _members(written: str) -> dict[str, str]:
    """Names and texts of an object; null is an empty text, a number or truth value what is written there."""
    try:
        found: Any = json.loads(written, object_pairs_hook=list, parse_float=str)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON (character {error.colno}: {error.msg})") from error
    if not written.lstrip().startswith("{"):
        raise ValueError("a line must be an object, {…}")
    cells: dict[str, str] = {}
    for name, value in found:
        column = name.strip().casefold()
        if column in cells:
            raise ValueError(f"{shown(name)} occurs twice in the object")
        if isinstance(value, bool):
            value = json.dumps(value)
        if value is not None and not isinstance(value, str | int):
            raise ValueError(f"{shown(name)} is not a text")
        cells[column] = "" if value is None else with_unix_newlines(str(value))
    return cells


def read_rows(data: bytes, known: Sequence[str], most: int = MOST_ROWS, sheet: str = "") -> Table:
    """The rows of a file's bytes that hold something, so many at most; `known` columns decide what separates the cells of CSV,
    and which sheet of a spreadsheet is read where none is named.

    Raises:
        ChooseSheetError: it is a spreadsheet, and several sheets fit, or none has the name.
        FileRefusedError: it is no such file, too large, holds no row, or columns have the same name.
    """
    if sheet and not is_spreadsheet(data):
        raise FileRefusedError("Only a spreadsheet (.xlsx, .ods) has sheets to choose from.")
    if data.startswith(PARQUET):
        table = _read_parquet(data)
    elif is_spreadsheet(data):
        table = _read_sheet(data, known, sheet)
    else:
        text = text_of(data)
        first = text.lstrip()[0]
        if first == "[":
            raise FileRefusedError(
                "The file is a JSON array. Write one object per line, without commas between them (JSONL)."
            )
        table = _read_json_lines(text) if first == "{" else _read_csv(text, known)
    _check_columns(table.columns)
    if said := same_name(table.columns):
        raise FileRefusedError(f"The file cannot be read: {said}.")
    if len(table.rows) > most:
        how = "Split it" if most == MOST_ROWS else "Split it, or import it by a command"
        raise FileRefusedError(f"The file has more than {most:,} rows. {how}.")
    if not (table.rows or table.problems):
        raise FileRefusedError("The file contains column names but no rows.")
    return table


def read_known(
    data: bytes, names: Mapping[str, str], most: int = MOST_ROWS, sheet: str = ""
) -> Table:
    """As `read_rows`, with cells of known columns alone, by our names of these; `columns` are all of the file's.

    names: what a column may be called, and ours.
    """
    table = read_rows(data, [*names], most, sheet)
    known = named(table.columns, names)
    rows = (
        replace(row, cells={ours: row.cells.get(name, "") for name, ours in known.items()})
        for row in table.rows
    )
    return replace(table, rows=list(rows))


def _check_columns(columns: Sequence[str]) -> None:
    """Each is shown where columns are chosen, and named by each problem of a row."""
    if len(columns) > MOST_COLUMNS:
        raise FileRefusedError(
            f"The file has {len(columns):,} columns, but at most {MOST_COLUMNS:,} can be read. Keep the ones that matter."
        )
    if longest := next((name for name in columns if len(name) > LONGEST_NAME), ""):
        raise FileRefusedError(
            f"The name of a column has more than {LONGEST_NAME:,} characters: {shown(longest)}. The first line must be the names of the columns."
        )


def _read_sheet(data: bytes, known: Sequence[str], name: str) -> Table:
    try:
        read = read_sheet(data, known, name)
    except SheetsError as error:
        raise ChooseSheetError(str(error), error.sheets) from error
    except SpreadsheetError as error:
        raise FileRefusedError(str(error)) from error
    columns = [name.casefold() for name in read.columns]
    rows = ((number, dict(zip(columns, cells, strict=True))) for number, cells in read.rows)
    return Table(columns, [TextRow(number, None, cells, read.name) for number, cells in rows])


def _read_parquet(data: bytes) -> Table:
    import pyarrow as pa  # loaded where it is asked for: it is large

    try:
        read = _unpacked(data)
    except MemoryError:  # which pyarrow's is too
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileRefusedError(
            f"The file cannot be read as Parquet ({shown(str(error))})."
        ) from error
    columns = [name.strip().casefold() for name in read.column_names]
    cells = [column.to_pylist() for column in read.columns]
    rows = (dict(zip(columns, map(_text, row), strict=True)) for row in zip(*cells, strict=True))
    return Table(columns, [TextRow(number, number, row) for number, row in enumerate(rows, 1)])


def _unpacked(data: bytes) -> Any:
    """The table, refused before one value stands for more cells than a file may have."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    # By this thread alone and from memory: threads that call back into Python outlive what is read
    file = ParquetFile(pa.BufferReader(data), pre_buffer=False)
    about, schema = file.metadata, file.schema_arrow
    for column in schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            raise FileRefusedError(
                f"Column {shown(column.name)} does not contain texts or numbers."
            )
    _check_columns(schema.names)
    if about.num_rows > MOST_ROWS or about.num_rows * len(schema) > MOST_CELLS:
        raise FileRefusedError(
            f"The file has more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells. Split it."
        )
    return file.read(use_threads=False)


def _text(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, datetime) and value.time() == time():  # a date, as data frames have it
        return value.date().isoformat()
    return str(value).lower() if isinstance(value, bool) else with_unix_newlines(str(value))
