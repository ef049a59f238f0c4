"""Texts of people in Markdown, as a renderer reads them that takes HTML."""

import pytest
from lxml import html

from lib.names import escaped
from lib.pdf import as_pdf
from tests.hostile import faults, payloads
from tests.hostile_names import EVERY
from tests.markdown_pages import page as rendered

MARKS = (
    "[x](javascript:pwned())", "![x](//evil.example/x.png)", "[x]: //evil.example", "<https://evil.example>",
    "https://evil.example/x", "www.evil.example", "**bold** _it_ `code` ~~gone~~", "# heading", "> quote", "- list",
    "1. list", "1) list", "===", "---", "| a | b |", "\\", "&lt;b&gt;", "a\n\n<script>pwned()</script>",
)  # fmt: skip


ALLOWED = {
    *["html", "body", "main", "p", "h1", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"]
}


@pytest.mark.parametrize(
    "place", ["{}", "# {}", "- {}", "- x: {} y", "| a | b |\n|---|---|\n| {} | c |\n"]
)
def test_text_of_people_stays_text_in_every_place_of_a_document(place):
    for text in (*payloads(), *MARKS, *EVERY):
        page = rendered(place.format(escaped(text)))
        assert list(faults(page)) == [], text
        document = html.document_fromstring(page)
        assert {e.tag for e in document.iter()} <= ALLOWED, (text, page)
        wanted, read = ("".join(t.split()) for t in (text, document.text_content()))
        assert wanted.replace("\x00", "") in read.replace("\ufffd", ""), (text, page)


def test_a_row_of_a_table_that_is_longer_than_a_page_goes_on_on_the_next() -> None:
    cell = "a long answer, " * 600
    pdf = as_pdf(f"# A study\n\n| question | answers |\n|---|---|\n| Why? | {cell} |\n", "A study")
    assert pdf.count(b"/Type /Page\n") > 1
