"""No spreadsheet runs a text of an exported file, whatever separates its cells there; and an import takes the text as it was."""

import csv
import io
import sys
from unicodedata import category

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lib.csv import field
from lib.csv_lines import line
from lib.formulas import guarded, unguarded
from tests.spreadsheet import MARKS, formulas

PIECES = (
    *"=+-@＝；,;|\t\r\n'\" a1",  # noqa: RUF001
    "=cmd|' /C calc'!A0",
    "\xa0",
    "''",
    '""',
    "\u2028",
    "\u200b",
    "\ufeff",
    "\x7f",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(max_examples=500, deadline=None)
@given(st.one_of(TEXTS, st.text()))
@example("\t=1")
@example("\r\n'=1")
@example(";\n =1")
@example("'\t")
@example(";'\"=1")
@example("\u200b'=1")
def test_a_guarded_text_comes_back_exactly(text: str) -> None:
    assert unguarded(guarded(text)) == text


@settings(max_examples=500, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from(MARKS))
@example(["fine", "good;=cmd|' /C calc'!A0"], ";")
@example(["a, b", 'x\t"=1'], "\t")
@example(["a", "b, c\n=1"], ";")
@example(["\ufeff=1", "a;\u200e =1"], ";")
def test_no_cell_of_a_line_is_a_formula_wherever_cells_are_separated(
    texts: list[str], marks: str
) -> None:
    assert formulas(line(field(text) for text in texts).decode(), marks) == []


def test_every_sign_that_nobody_sees_is_looked_through() -> None:
    unseen = [c for c in map(chr, range(sys.maxunicode)) if category(c) in ("Cc", "Cf")]
    assert [c for c in unseen if "'" not in guarded(f"{c}=1")] == []


def test_python_reads_the_texts_that_were_guarded() -> None:
    texts = ["good;=1+1", "=1", "a\n-b", "plain", "'tis"]
    written = line(map(field, texts)).decode()
    [read] = csv.reader(io.StringIO(written, newline=""))
    assert read == ["good;'=1+1", "'=1", "a\n'-b", "plain", "'tis"]
    assert list(map(unguarded, read)) == texts


@pytest.mark.parametrize(
    ("cell", "text"),
    [("'=1", "=1"), ("' =1", " =1"), ("'\n=1", "\n=1"), ("'\tx", "\tx"), ("''=1", "'=1")],
)
def test_cells_of_files_that_were_exported_before_are_read_as_they_were(
    cell: str, text: str
) -> None:
    assert unguarded(cell) == text


@pytest.mark.parametrize(
    "text", ["=" * 200_000, ";" * 200_000, ";'" * 100_000, '"' * 200_000, "; " * 100_000]
)
def test_long_texts_take_no_longer_than_their_length(text: str) -> None:
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("value", [-1, -0.5, True, None])
def test_numbers_are_never_guarded(value: object) -> None:
    assert not field(value).startswith("'")
