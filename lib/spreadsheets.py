"""Sheets of a spreadsheet file (.xlsx, .ods) as columns and rows of texts. Knows nothing of what the columns mean.

A small file may unpack to gigabytes: `read_sheet` runs in a process of its own (lib/confined.py). The reader looks at the stored
values alone: it computes no formula, follows no link and runs no macro.
"""

import io
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from lib.formulas import unguarded
from lib.newlines import with_unix_newlines
from lib.tables import folded, listed, shown

ZIP = b"PK\x03\x04"
OLD = b"\xd0\xcf\x11\xe0"  # Microsoft's container of .xls, and of an .xlsx with a password
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
MACROS = ("vbaProject.bin", "Basic/script-lc.xml")
TYPES = ("[Content_Types].xml", "mimetype")  # a spreadsheet has one of them
MOST_PARTS = 5_000
MOST_UNPACKED = 256 * 2**20
MOST_RATIO = 200  # of texts that repeat each other less than a hundred times
SMALL = 10 * 2**20  # unpacked, however well it was packed
MOST_CELLS = 4_000_000
SEARCHED = 100  # rows, for the names of columns
# The second sheet of our own files, which says what the columns of the first mean
MEANINGS = ("column", "meaning", "type", "empty means")
_DIGITS = 15  # that spreadsheet programs show


class SpreadsheetError(Exception):
    """The file cannot be read as a spreadsheet; the message says why."""


class SheetsError(SpreadsheetError):
    """One of several `sheets` has to be chosen."""

    def __init__(self, message: str, sheets: Sequence[str]) -> None:
        super().__init__(message, tuple(sheets))
        self.message, self.sheets = message, tuple(sheets)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet's table. rows: each with its number in the program, and a cell for each column."""

    name: str
    columns: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]


def is_spreadsheet(data: bytes) -> bool:
    """Also one that cannot be read: old, with a password, or damaged."""
    return data.startswith((ZIP, OLD))


def read_sheet(data: bytes, known: Sequence[str] = (), name: str = "") -> Sheet:
    """The sheet of this name, or else the one with the `known` columns; rows without content are left out.

    Raises:
        SheetsError: several sheets fit, or none has this name.
        SpreadsheetError: it is no such file, has a password or macros, or is too large.
    """
    _check(data)
    from python_calamine import (
        CalamineError,
        CalamineWorkbook,
        PasswordError,
        SheetTypeEnum,
        SheetVisibleEnum,
    )

    try:
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            # Neither hidden ones nor charts
            kind, seen = SheetTypeEnum.WorkSheet, SheetVisibleEnum.Visible
            about = [s for s in book.sheets_metadata if (s.typ, s.visible) == (kind, seen)]
            tables = [_Table.of(book, sheet.name) for sheet in about]
            return _chosen([table for table in tables if table.columns], known, name).sheet
    except SpreadsheetError:
        raise
    except PasswordError as error:
        raise SpreadsheetError(_LOCKED) from error
    except CalamineError as error:
        raise SpreadsheetError(f"{_DAMAGED} ({shown(str(error))}).") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of a library in Rust; no Exception
            raise
        raise SpreadsheetError(f"{_DAMAGED}.") from error


_LOCKED = "The spreadsheet has a password. Save it without one."
_DAMAGED = (
    "The file is a spreadsheet (.xlsx, .ods) that is damaged, or another zip file. Save it again"
)


def _check(data: bytes) -> None:
    """Before anything is unpacked."""
    if data.startswith(OLD):
        if ENCRYPTED in data:
            raise SpreadsheetError(_LOCKED)
        raise SpreadsheetError("The file is an old spreadsheet (.xls). Save it as .xlsx or .ods.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise SpreadsheetError(f"{_DAMAGED}.") from error
    if not any(part.filename in TYPES for part in parts):
        raise SpreadsheetError(
            "The file is a zip file, but no spreadsheet (.xlsx, .ods). Unpack it first."
        )
    if any(part.filename.endswith(MACROS) for part in parts):
        raise SpreadsheetError(
            "The spreadsheet contains macros (.xlsm), which are not taken. Save it as .xlsx."
        )
    unpacked = sum(part.file_size for part in parts)
    is_bomb = unpacked > SMALL and unpacked > MOST_RATIO * len(data)
    if unpacked > MOST_UNPACKED or is_bomb or len(parts) > MOST_PARTS:
        raise SpreadsheetError(
            f"The spreadsheet unpacks to {unpacked / 2**20:,.0f} MB, which is too much. Save the sheet as “CSV UTF-8”."
        )


@dataclass(frozen=True, slots=True)
class _Table:
    """The beginning of a sheet. at: of the names of columns among the rows. columns: by their place, those that have a name or content."""

    name: str
    columns: Sequence[str]
    range: Any
    at: int

    @classmethod
    def of(cls, book: Any, name: str) -> "_Table":
        found = book.get_sheet_by_name(name)
        if found.height * found.width > MOST_CELLS:
            raise SpreadsheetError(
                f"The sheet {shown(name)} has more than {MOST_CELLS:,} cells. Split it, or delete what is next to the table."
            )
        rows = enumerate(found.to_python(nrows=SEARCHED) if found.height else ())
        at, header = next(((n, row) for n, row in rows if _has_content(row)), (0, []))
        return cls(name, [text_of(cell).strip() for cell in header], found, at)

    @property
    def sheet(self) -> Sheet:
        first = self.range.start[0] + 1
        cells = self.range.to_python()
        rows = [(first + n, row) for n, row in enumerate(cells) if n > self.at]
        filled = [(n, list(map(text_of, row))) for n, row in rows if _has_content(row)]
        kept = [
            place
            for place, name in enumerate(self.columns)
            if name or any(row[place].strip() for _, row in filled)
        ]
        names = [self.columns[n] or f"(column {n + 1} without a name)" for n in kept]
        return Sheet(self.name, names, [(n, [row[at] for at in kept]) for n, row in filled])


def _chosen(tables: Sequence[_Table], known: Collection[str], name: str) -> _Table:
    """The one to read."""
    there = [table.name for table in tables]
    if name:
        same = [table for table in tables if table.name.strip() == name.strip()]
        if same:
            return same[0]
        raise SheetsError(f"No sheet {shown(name)} with a table (sheets: {listed(there)}).", there)
    fitting = [*_fitting(tables, known)]
    if not fitting:
        raise SpreadsheetError("The file is empty.")
    if len(fitting) == 1:
        return fitting[0]
    names = [table.name for table in fitting]
    raise SheetsError(f"Several sheets could be the table: {listed(names)}. Choose one.", names)


def _fitting(tables: Sequence[_Table], known: Collection[str]) -> Iterator[_Table]:
    """The tables that have most of the known columns: one with fewer than half as many as another is something else, such as notes."""
    names = {*map(folded, known)}
    others = [table for table in tables if tuple(table.columns) != MEANINGS]
    scores = [len(names & {*map(folded, table.columns)}) for table in others]
    most = max(scores, default=0)
    return (table for table, n in zip(others, scores, strict=True) if 2 * n >= most)


def _has_content(row: Sequence[Any]) -> bool:
    return any(not isinstance(cell, str) or cell.strip() for cell in row)


def text_of(value: Any) -> str:
    """A cell as text: numbers as they are shown at most, dates as ISO 8601, truth values as in our own files.

    >>> [text_of(value) for value in (1.0, 0.1 + 0.2, True, date(2024, 3, 31), "007", "'=1+1")]
    ['1', '0.3', 'true', '2024-03-31', '007', '=1+1']
    """
    match value:
        case str():
            return unguarded(with_unix_newlines(value))
        case bool():
            return "true" if value else "false"
        case int() | float():
            whole = float(value).is_integer() and abs(value) < 10**_DIGITS
            return str(int(value)) if whole else f"{value:.{_DIGITS}g}"
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return str(value)
