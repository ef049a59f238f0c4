"""A table as an .xlsx file: written row by row, whatever its length, with what its columns mean on a second sheet.

Texts are cells of text, which no program runs. They are defused as in CSV all the same, because somebody may save the sheet as
CSV; an import takes the text as it was (lib/formulas.py).
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from math import isfinite
from types import TracebackType
from typing import Any, BinaryIO, Self

import xlsxwriter

from lib.formulas import guarded
from lib.spreadsheets import MEANINGS
from lib.table_files import Column, TooLargeForSheetError

# Limits of the format
MOST_ROWS = 2**20 - 1  # below the names
MOST_CHARACTERS = 2**15 - 1
_WHOLE = 10**15  # from here on, programs show other digits than are there
_FIRST_YEAR = 1901  # the year before has a day too many in these files
_MADE = datetime(2000, 1, 1)  # noqa: DTZ001 (equal tables are equal files, whenever they are written)


class _Exact(float):
    """A number that is written with all its digits: the library would leave out the last."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


class Workbook:
    """A new file, whole once the context is left."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._book = xlsxwriter.Workbook(file, {"constant_memory": True})
        self._book.set_properties({"created": _MADE})
        self._bold = self._book.add_format({"bold": True})
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._columns, self._n = columns, 0
        self._sheet = self._begun("Data", [column.name for column in columns])

    def write(self, block: Iterable[Sequence[Any]]) -> None:
        """Append rows, given as columns.

        Raises:
            TooLargeForSheetError: there are more than a sheet can have, or a text is too long for a cell.
        """
        for row in zip(*block, strict=True):
            self._n += 1
            if self._n > MOST_ROWS:
                raise TooLargeForSheetError(
                    f"A spreadsheet has at most {MOST_ROWS:,} rows. Choose another format."
                )
            for place, value in enumerate(row):
                self._cell(self._sheet, self._n, place, value)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and any(column.meaning for column in self._columns):
            sheet = self._begun("Columns", MEANINGS)
            for n, column in enumerate(self._columns, start=1):
                said = (column.name, column.meaning, column.type, column.null)
                for place, text in enumerate(said):
                    self._cell(sheet, n, place, text)
        self._book.close()

    def _begun(self, name: str, header: Sequence[str]) -> Any:
        """A sheet with the names of its columns, which stay in view."""
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        for place, text in enumerate(header):
            sheet.write_string(0, place, guarded(text), self._bold)
        return sheet

    def _cell(self, sheet: Any, row: int, place: int, value: Any) -> None:
        match value:
            case None | "":
                pass
            case bool():
                sheet.write_boolean(row, place, value)
            case int() if abs(value) < _WHOLE:
                sheet.write_number(row, place, value)
            case float() if isfinite(value):
                sheet.write_number(row, place, _Exact(value))
            case date() if not isinstance(value, datetime) and value.year >= _FIRST_YEAR:
                sheet.write_datetime(row, place, value, self._day)
            case _:
                text = guarded(str(value))
                if len(text) > MOST_CHARACTERS:
                    raise TooLargeForSheetError(
                        f"A cell of a spreadsheet has at most {MOST_CHARACTERS:,} characters; “{self._columns[place].name}” of "
                        f"row {row} has {len(text):,}. Choose another format."
                    )
                sheet.write_string(row, place, text)
