"""Files that somebody gives: CSV, JSON lines or Parquet as rows of texts by column. Knows nothing of what the columns mean."""

import io
import json
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lib.files import read_regular
from lib.formulas import unguarded
from lib.newlines import with_unix_newlines
from lib.tables import TableReader, decoded, same_name, shown

MAX_BYTES = 256 * 1024 * 1024
PARQUET = b"PAR1"
# How files begin that are often taken for a table
KINDS = {
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or another zip file. Save the sheet as “CSV UTF-8”",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls). Save the sheet as “CSV UTF-8”",
    b"\x1f\x8b": "compressed with gzip. Unpack it first",
    b"%PDF": "a PDF",
}
# Control characters that texts have
IN_TEXTS = frozenset(b"\t\n\v\f\r\x1a\x1b")
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


def _read_text(text: str, known: Collection[str]) -> Table:
    first = text.lstrip()[0]
    if first == "[":
        raise FileRefusedError(
            "The file is a JSON array. Write one object per line, without commas between them (JSONL)."
        )
    return _read_json_lines(text) if first == "{" else _read_csv(text, known)


def _read_csv(text: str, known: Collection[str]) -> Table:
    table = Table()

    def number() -> int:
        return len(table.rows) + len(table.problems) + 1

    def refuse(line: int, message: str) -> None:
        if not table.columns:
            raise FileRefusedError(f"Line {line}: {message}.")
        table.problems.append(RowProblem(message, number(), line))

    reader = TableReader(io.StringIO(text, newline=""), refuse, known)
    table.columns = [unguarded(name).casefold() for name in reader.columns]
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


def read_rows(data: bytes, known: Collection[str]) -> Table:
    """The rows of a file's bytes that hold something; `known` columns decide what separates the cells of CSV.

    Raises:
        FileRefusedError: it is no such file, too large, holds no row, or columns have the same name.
    """
    table = _read_parquet(data) if data.startswith(PARQUET) else _read_text(text_of(data), known)
    if said := same_name(table.columns):
        raise FileRefusedError(f"The file cannot be read: {said}.")
    if len(table.rows) > MOST_ROWS:
        raise FileRefusedError(f"The file has more than {MOST_ROWS:,} rows. Split it.")
    if not (table.rows or table.problems):
        raise FileRefusedError("The file contains column names but no rows.")
    return table


def _read_parquet(data: bytes) -> Table:
    import pyarrow as pa  # loaded where it is asked for: it is large

    try:
        read = _unpacked(data)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileRefusedError(
            f"The file cannot be read as Parquet ({shown(str(error))})."
        ) from error
    columns = [name.strip().casefold() for name in read.column_names]
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
            raise FileRefusedError(
                f"Column {shown(column.name)} does not contain texts or numbers."
            )
    groups = (about.row_group(n) for n in range(about.num_row_groups))
    too_much = FileRefusedError(
        f"The file has more than {MOST_ROWS:,} rows or {MOST_UNPACKED // 2**20} MB. Split it."
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
