"""Tables of text as spreadsheets and other programs write them."""

import io

import pytest

from lib.tables import TableReader, decoded

ROWS = [["1", "Rats, slept; more.", "x"], ["2", "", ""]]


def read(text: str, known: tuple[str, ...] = ()) -> tuple[list[list[str]], list[tuple[int, str]]]:
    refused: list[tuple[int, str]] = []
    reader = TableReader(io.StringIO(text, newline=""), lambda *said: refused.append(said), known)
    return [reader.columns, *reader], refused


@pytest.mark.parametrize("known", [(), ("text",)])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_header_tells_what_separates_cells(mark: str, end: str, known: tuple[str, ...]) -> None:
    lines = ["n,text,note", '1,"Rats, slept; more.",x', "2"]
    text = end.join([lines[0].replace(",", mark), lines[1].replace('1,"', f'1{mark}"').replace('",x', f'"{mark}x'), lines[2]])  # fmt: skip
    assert read(text, known) == ([["n", "text", "note"], *ROWS], [])


@pytest.mark.parametrize("named", ["sep=|", '"sep=|"', "SEP=|"])
def test_a_first_line_names_what_separates_cells(named: str) -> None:
    text = f"\n{named}\r\nn|text|note\r\n1|Rats, slept; more.|x\r\n2||\r\n3|a|b|c\r\n"
    rows, [(line, said)] = read(text)
    assert rows[1:] == ROWS
    assert (line, "4 cells, but the header has 3" in said) == (6, True)


def test_cells_rows_and_lines_in_which_nothing_stands_are_none() -> None:
    rows, refused = read(",,\n\na,b\n,\n1,2, ,\n\n3\n")
    assert (rows, refused) == ([["a", "b"], ["1", "2"], ["3", ""]], [])


def test_known_columns_decide_where_a_name_holds_other_marks() -> None:
    assert read("text;a,b,c\n1;2\n", ("text",))[0] == [["text", "a,b,c"], ["1", "2"]]


def test_a_row_that_cannot_be_read_is_named_by_the_line_where_it_begins() -> None:
    rows, [(line, said)] = read('a,b\n"1\n2",x\n3,"4\n')
    assert (rows[1:], line) == ([["1\n2", "x"]], 4)
    assert "quotation mark" in said
    assert read("") == ([[]], [])


@pytest.mark.parametrize(
    "header", ["key,key", "key,Key", "original_abstract,Original Abstract", "a-b,AB"]
)
def test_columns_that_are_read_as_the_same_are_refused(header: str) -> None:
    rows, [(line, said)] = read(f"{header}\n1,2\n")
    assert (rows, line) == ([header.split(",")], 1)
    assert all(f"“{name}”" in said for name in header.split(","))


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_text_and_tells_utf_16(coding: str) -> None:
    assert decoded("é\n".encode(coding)) == "é\n"
