"""Sheets of .xlsx and .ods files as the programs write them, and files that are refused before they are unpacked."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pytest
import xlsxwriter

from lib import spreadsheets
from lib.confined import confined
from lib.spreadsheets import MEANINGS, SheetsError, SpreadsheetError, read_sheet
from tests.sheets import ods, xlsx

HEADER = ("Key", "Text", "Day")


def test_cells_are_read_as_they_are_shown_and_rows_keep_their_numbers() -> None:
    first = (1.0, "=1+1", date(2024, 3, 31))
    second = ("007", "a\nb  c", datetime(2024, 3, 31, 12, 30))  # noqa: DTZ001
    rows = [(), (), HEADER, first, (), ("", " ", ""), second, (0.1 + 0.2, True, "")]
    for data in (xlsx({"A": rows}), ods({"A": rows})):
        sheet = read_sheet(data)
        assert sheet.columns == [*HEADER]
        assert sheet.rows == [
            (4, ["1", "=1+1", "2024-03-31"]),
            (7, ["007", "a\nb  c", "2024-03-31T12:30:00"]),
            (8, ["0.3", "true", ""]),
        ]


def test_a_formula_is_its_stored_value() -> None:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["a", "b", "c"])
        sheet.write_formula(1, 0, "=1+1", value=2)
        sheet.write_formula(1, 1, '="x"', value="x")
        sheet.write_formula(1, 2, "=1/0", value="")
    assert read_sheet(file.getvalue()).rows == [(2, ["2", "x", ""])]


def test_columns_without_a_name_are_kept_where_they_have_content() -> None:
    rows = [("a", "", "b", ""), ("1", "", "2", ""), ("3", "", "4", "5")]
    sheet = read_sheet(xlsx({"A": rows}))
    assert sheet.columns == ["a", "b", "(column 4 without a name)"]
    assert sheet.rows[1] == (3, ["3", "4", "5"])


NOTES, TABLE = [("A remark",)], [HEADER, ("1", "a", "")]


@pytest.mark.parametrize(
    ("sheets", "known", "found"),
    [
        ({"Notes": NOTES, "Table": TABLE}, ["key", "text"], "Table"),
        ({"Table": TABLE, "Columns": [MEANINGS, ("key", "names it", "text")]}, [], "Table"),
        ({"Lookup": [("Text",), ("a",)], "Table": TABLE}, ["key", "text", "day"], "Table"),
        ({"Empty": [], "Table": TABLE}, [], "Table"),
        ({"Notes": NOTES}, ["key"], "Notes"),
    ],
)
def test_the_sheet_with_the_known_columns_is_read(
    sheets: Mapping[str, Sequence[Sequence[Any]]], known: list[str], found: str
) -> None:
    assert read_sheet(xlsx(sheets), known).name == found


def test_one_of_several_sheets_is_chosen_by_its_name() -> None:
    data = xlsx({"2023": TABLE, "2024": [HEADER, ("2", "b", "")], "Notes": NOTES})
    with pytest.raises(SheetsError, match="Several sheets could be the table") as several:
        read_sheet(data, ["key", "text"])
    assert several.value.sheets == ("2023", "2024")
    assert read_sheet(data, ["key", "text"], "2024").rows == [(2, ["2", "b", ""])]
    with pytest.raises(SheetsError, match="No sheet “2025”") as missing:
        read_sheet(data, [], "2025")
    assert missing.value.sheets == ("2023", "2024", "Notes")
    # Also from the process that reads
    with pytest.raises(SheetsError) as again:
        confined(read_sheet, data, ["key"], refusals=[SheetsError, SpreadsheetError])
    assert again.value.sheets == ("2023", "2024")


def zipped(**parts: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_part(data: bytes, name: str, content: bytes) -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04\x00\x00", "damaged"),
        (xlsx({"A": TABLE})[:900], "damaged"),
        (zipped(a=b"b"), "no spreadsheet"),
        (with_part(xlsx({"A": TABLE}), "xl/vbaProject.bin", b"x"), "macros"),
        (with_part(xlsx({"A": TABLE}), "xl/media/a", bytes(30 * 2**20)), "unpacks to 30 MB"),
        (spreadsheets.OLD + bytes(600), "old spreadsheet"),
        (spreadsheets.OLD + bytes(600) + spreadsheets.ENCRYPTED, "has a password"),
        (with_part(zipped(**{"[Content_Types].xml": b"<Types/>"}), "a", b""), "damaged"),
        (xlsx({"A": []}), "is empty"),
    ],
)
def test_a_file_that_is_no_sheet_is_refused_with_a_sentence(data: bytes, said: str) -> None:
    with pytest.raises(SpreadsheetError, match=said):
        read_sheet(data)


def test_a_sheet_of_too_many_cells_is_refused() -> None:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet().write(3_999, 1_000, "far away")
        book.worksheets()[0].write(0, 0, "near")
    with pytest.raises(SpreadsheetError, match="more than 4,000,000 cells"):
        read_sheet(file.getvalue())
