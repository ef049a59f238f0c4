"""Cells and lines of CSV files."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from lib.csv import cell, field, fields
from lib.csv_lines import line
from tests.factories import NOW


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\ttab", "\u00a0=1", "\uff1d1", "'=1"],
)
def test_a_text_that_a_spreadsheet_would_run_is_defused(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "defused"),
    [
        ("good;=cmd|' /C calc'!A0", "good;'=cmd|' /C calc'!A0"),
        ('a, "=1"', 'a,\' "=1"'),
        ("a\t-1|+1\n@x", "a\t'-1|'+1\n'@x"),
        (" \n =1", " \n' =1"),
    ],
)
def test_so_it_is_where_another_mark_would_begin_a_cell(text: str, defused: str) -> None:
    assert cell(text) == defused


@pytest.mark.parametrize("text", ["a,b", 'a"b', "a\nb", "a\rb", "a\r\nb", "", " a", "plain"])
def test_a_field_is_read_back_as_its_text(text: str) -> None:
    stream = io.StringIO(line([field(text), field(text)]).decode(), newline="")
    assert list(csv.reader(stream)) == [[text, text]]


@pytest.mark.parametrize(
    "column",
    [
        [None, 3, -1, 3, None],
        [True, None, False],
        ["=1", "a,b", None, "=1"],
        [NOW, None, NOW + timedelta(days=150, microseconds=5)],
        [NOW.date(), None],
        [1.5, None, -0.5],
        [None, None],
        [],
    ],
)
def test_a_column_is_written_as_its_values_are(column: list[Any]) -> None:
    with timezone.override("America/St_Johns"):
        assert list(fields(column)) == [field(value) for value in column]


@pytest.mark.parametrize(
    "value", ["a=1", "1-2", "a; b", "'tis", "x - y", "", " plain", "(=1)", -5, -0.5]
)
def test_other_texts_and_numbers_stay_as_they_are(value: str | float) -> None:
    assert cell(value) == str(value)
