"""Tables as .xlsx: what the cells are, and that each is read again as it was."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from experiment.domain.export_columns import Column
from lib import workbook
from lib.spreadsheets import MEANINGS, read_sheet
from lib.table_files import TooLargeForSheetError, table_bytes, writing

COLUMNS = (
    Column("text", "what was written", null="nothing was"),
    Column("day", "when", "date"),
    Column("number", "how much", "number"),
    Column("whole", "how many", "integer"),
    Column("truth", "whether", "boolean"),
)
ROWS: Sequence[Sequence[Any]] = [
    ("=1+1", date(2024, 3, 31), 0.1 + 0.2, 7, True),
    ("007", date(1850, 1, 1), 1e300, 10**17, False),
    (None, None, None, None, None),
    ("good;=1", date(1900, 2, 28), 2.0, -1, None),
]


def part(data: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name).decode()


def test_cells_have_types_and_nothing_is_a_formula() -> None:
    data = table_bytes("xlsx", COLUMNS, ROWS)
    xml = part(data, "xl/worksheets/sheet1.xml")
    assert "<f>" not in xml
    assert "<v>0.30000000000000004</v>" in xml  # all digits
    kinds = dict(re.findall(r'<c r="(\w+)"(?: s="\d")?(?: t="(\w+)")?>', xml))
    row = [kinds[f"{letter}2"] for letter in "ABCDE"]
    assert row == ["inlineStr", "", "", "", "b"]
    assert kinds["D3"] == "inlineStr"  # programs would show other digits
    assert 'state="frozen"' in xml
    assert table_bytes("xlsx", COLUMNS, ROWS) == data


def test_each_cell_is_read_as_it_was() -> None:
    sheet = read_sheet(table_bytes("xlsx", COLUMNS, ROWS))
    assert [row for _, row in sheet.rows] == [
        ["=1+1", "2024-03-31", "0.3", "7", "true"],
        ["007", "1850-01-01", "1e+300", str(10**17), "false"],
        ["good;=1", "1900-02-28", "2", "-1", ""],
    ]


def test_the_second_sheet_says_what_columns_mean() -> None:
    sheet = read_sheet(table_bytes("xlsx", COLUMNS, ROWS), name="Columns")
    assert tuple(sheet.columns) == MEANINGS
    assert sheet.rows[0] == (2, ["text", "what was written", "text", "nothing was"])
    assert "Columns" not in part(
        table_bytes("xlsx", [Column("a", "")], [("b",)]), "xl/workbook.xml"
    )


def test_times_are_texts_with_their_zone() -> None:
    at = datetime(2024, 3, 31, 12, 30, tzinfo=UTC)
    (row,) = read_sheet(table_bytes("xlsx", [Column("at", "", "time")], [(at,)])).rows
    assert datetime.fromisoformat(row[1][0]) == at


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40).map(
    lambda text: text.replace("\r\n", "\n").replace("\r", "\n")
)


@settings(max_examples=30, deadline=None)
@given(text=TEXTS)
@example(text=" ")
@example(text=" \t_x000D_\x0b")
def test_any_text_comes_back(text: str) -> None:
    sheet = read_sheet(table_bytes("xlsx", [Column("n", ""), Column("text", "")], [("1", text)]))
    assert sheet.rows[0][1][1] == text


@contextmanager
def refused(said: str) -> Iterator[None]:
    with pytest.raises(TooLargeForSheetError, match=said):
        yield


def test_a_table_that_no_sheet_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("“text” of row 1 has 32,768"):
        table_bytes("xlsx", [Column("text", "")], [("x" * 32_768,)])
    monkeypatch.setattr(workbook, "MOST_ROWS", 2)
    with refused("at most 2 rows"), writing("xlsx", io.BytesIO(), [Column("a", "")]) as write:
        write([("1", "2", "3")])
