"""Files that somebody gives: CSV, JSON lines or Parquet as rows of texts by column. Knows nothing of what the columns mean."""

import codecs
import csv
import io
import json
import stat
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment.domain.item_checks.characters import visible
from experiment.imports.read.tables import shown
from lib.files import read_regular
from lib.formulas import unguarded
from lib.newlines import with_unix_newlines

MAX_BYTES = 256 * 1024 * 1024
PARQUET = b"PAR1"
# How files begin that are often taken for a table
KINDS = {
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or another zip file: save the sheet as “CSV UTF-8”",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls): save the sheet as “CSV UTF-8”",
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"%PDF": "a PDF",
    PARQUET: "a Parquet file: write it as JSONL or CSV",
    codecs.BOM_UTF16_LE: "text in UTF-16: save it as “CSV UTF-8”",
    codecs.BOM_UTF16_BE: "text in UTF-16: save it as “CSV UTF-8”",
}
# Control characters that texts have
IN_TEXTS = frozenset(b"\t\n\v\f\r\x1a\x1b")
DELIMITERS = (",", ";", "\t")
MAX_FIELD = 2**31 - 1  # the csv module's own limit would end at 131,072 characters
MOST_ROWS = 200_000
MOST_UNPACKED = 512 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What keeps a file from being imported.

    row: of data, from 1: the line of column names is none. line: of the file, from 1, where the row begins. Both None
    where it is about the whole file.
    """

    message: str
    row: int | None = None
    line: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        row = "" if self.row is None else f"row {self.row}"
        line = "" if self.line is None else f"line {self.line}"
        column = "" if self.column is None else f"column “{self.column}”"
        where = ", ".join(part for part in (row, line, column) if part)
        return f"{where}: {self.message}" if where else self.message


def quoted(text: str) -> str:
    """The beginning of a text for a message, its unseen characters spelled out."""
    return visible(shown(text))


class FileRefusedError(Exception):
    """The file cannot be read at all; the message says why."""


def read_content(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises:
        FileRefusedError: it is none, too large, or no Parquet file though its name says so.
    """
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise FileRefusedError(f"{path} is a folder: name a file.")
        if not stat.S_ISREG(about.st_mode):
            # A pipe would be waited for, and a device never ends
            raise FileRefusedError(f"{path} is no regular file.")
        if about.st_size > MAX_BYTES:
            raise FileRefusedError(f"{path} has more than {MAX_BYTES // 2**20} MB: split it.")
        data = read_regular(path, MAX_BYTES)
    except FileNotFoundError as error:
        where = "is a link to nowhere" if path.is_symlink() else "does not exist"
        raise FileRefusedError(f"{path} {where}.") from error
    except OSError as error:
        raise FileRefusedError(f"{path} cannot be read: {error.strerror or error}.") from error
    if path.suffix.casefold() == ".parquet" and data and not data.startswith(PARQUET):
        raise FileRefusedError(f"{path} is no Parquet file, or a broken one: write it anew.")
    return data


def text_of(data: bytes) -> str:
    """The text, its line breaks as in Unix.

    Raises:
        FileRefusedError: the file is empty, of another kind, or not UTF-8.
    """
    for beginning, what in KINDS.items():
        if data.startswith(beginning):
            raise FileRefusedError(f"The file is {what}.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if any(byte < 32 and byte not in IN_TEXTS for byte in data[:1_000]):
            raise FileRefusedError(
                f"The file is no text: byte 0x{data[error.start]:02x} in line {line}. Write it anew as CSV or JSONL."
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


def read_rows(data: bytes, known: Collection[str]) -> Table:
    """`known` columns decide what separates the cells of CSV.

    Raises:
        FileRefusedError: it is no such file, too large, holds no row, or columns have the same name.
    """
    if data.startswith(PARQUET):
        table = _read_parquet(data)
    else:
        table = read_table(text_of(data), known, with_numbers=True)
    if len(table.rows) > MOST_ROWS:
        raise FileRefusedError(f"The file has more than {MOST_ROWS:,} rows: split it.")
    if not (table.rows or table.problems):
        raise FileRefusedError("The file names its columns, and has no row below them.")
    return table


def _read_parquet(data: bytes) -> Table:
    import pyarrow as pa  # loaded where it is asked for: it is large

    try:
        read = _unpacked(data)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileRefusedError(
            f"The file cannot be read as Parquet ({quoted(str(error))})."
        ) from error
    columns = [name.strip().casefold() for name in read.column_names]
    if len(set(columns)) < len(columns):
        raise FileRefusedError("Several columns have the same name.")
    cells = [column.to_pylist() for column in read.columns]
    rows = (dict(zip(columns, map(_text, row), strict=True)) for row in zip(*cells, strict=True))
    return Table(columns, [TextRow(number, number, row) for number, row in enumerate(rows, 1)])


def _unpacked(data: bytes) -> Any:
    """The table, refused before it takes more memory than a file of texts may: one value can stand for many rows."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(io.BytesIO(data))
    about, schema = file.metadata, file.schema_arrow
    for column in schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            raise FileRefusedError(f"Column {quoted(column.name)} holds no texts or numbers.")
    groups = (about.row_group(n) for n in range(about.num_row_groups))
    too_much = FileRefusedError(
        f"The file has more than {MOST_ROWS:,} rows or {MOST_UNPACKED // 2**20} MB: split it."
    )
    if about.num_rows > MOST_ROWS or sum(g.total_byte_size for g in groups) > MOST_UNPACKED:
        raise too_much
    texts = [
        column.name
        for column in schema
        if _is_text(getattr(column.type, "value_type", column.type))
    ]
    read = ParquetFile(io.BytesIO(data), read_dictionary=texts).read()
    n_bytes = 0
    for name in texts:
        for chunk in read.column(name).chunks:
            lengths = pc.binary_length(chunk.dictionary)
            n_bytes += pc.sum(pc.take(lengths.cast(pa.int64()), chunk.indices)).as_py() or 0
    if n_bytes > MOST_UNPACKED:
        raise too_much
    return read


def _is_text(kind: Any) -> bool:
    """Of a column, or of what its dictionary holds."""
    import pyarrow as pa

    t = pa.types
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else with_unix_newlines(str(value))
