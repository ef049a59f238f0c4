"""Markdown as a PDF: headings, paragraphs, lists and tables."""

import io
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    Flowable,
    ListFlowable,
    ListItem,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

MARGIN = 22 * mm
SIZES = {1: 18, 2: 13, 3: 11}
# The PDF's own fonts have the characters of Windows-1252
NOT_IN_FONTS = {"\u2212": "-", "\u2265": ">=", "\u2264": "<=", "\u2011": "-"}


def as_pdf(text: str, title: str) -> bytes:
    """Pages of A4 with their numbers; the same text gives the same bytes."""
    tree = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text))
    target = io.BytesIO()
    document = SimpleDocTemplate(
        target,
        pagesize=A4,
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=MARGIN,
        title=title,
        invariant=True,
    )
    document.build(list(_flow(tree)), onFirstPage=_number, onLaterPages=_number)
    return target.getvalue()


def _number(canvas: Canvas, document: SimpleDocTemplate) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.setFillGray(0.4)
    canvas.drawRightString(A4[0] - MARGIN, 12 * mm, str(document.page))


def _style(size: float = 10, *, bold: bool = False, before: float = 0) -> ParagraphStyle:
    name = "Helvetica-Bold" if bold else "Helvetica"
    normal = getSampleStyleSheet()["Normal"]
    return ParagraphStyle(
        "own",
        parent=normal,
        fontName=name,
        fontSize=size,
        leading=1.4 * size,
        spaceBefore=before,
        spaceAfter=0.5 * size,
    )


def _flow(tree: SyntaxTreeNode) -> Iterator[Flowable]:
    for node in tree.children:
        if node.type == "heading":
            size = SIZES.get(int(node.tag[1]), 10)
            yield Paragraph(_inline(node), _style(size, bold=True, before=0.8 * size))
        elif node.type == "paragraph":
            yield Paragraph(_inline(node), _style())
        elif node.type in ("bullet_list", "ordered_list"):
            kind = "bullet" if node.type == "bullet_list" else "1"
            items: list[Any] = [
                ListItem(list(_flow(item)), leftIndent=14) for item in node.children
            ]
            yield ListFlowable(items, bulletType=kind, start="•" if kind == "bullet" else 1)
        elif node.type == "table":
            yield _table(node)
            yield Spacer(1, 8)
        elif node.type == "blockquote":
            yield from _flow(node)
        elif node.type in ("code_block", "fence"):
            yield Paragraph(_plain(node.content), _style(9))


def _table(node: SyntaxTreeNode) -> Table:
    rows = [row for part in node.children for row in part.children]
    cells = [
        [Paragraph(_inline(cell), _style(8.5, bold=n == 0)) for cell in row.children]
        for n, row in enumerate(rows)
    ]
    lengths = [
        max(min(60, len(_inline(row.children[column]))) for row in rows) + 6
        for column in range(len(cells[0]))
    ]
    width = A4[0] - 2 * MARGIN
    widths = [width * length / sum(lengths) for length in lengths]
    # A row may be longer than a page
    table = Table(cells, widths, repeatRows=1, splitInRow=1)
    lines: list[Any] = [
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.lightgrey),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 2),
    ]
    table.setStyle(TableStyle(lines))
    return table


def _inline(node: SyntaxTreeNode) -> str:
    """The text of a block, in the markup of reportlab's paragraphs."""
    return "".join(_spans(inline) for inline in node.children)


def _spans(node: SyntaxTreeNode) -> str:
    if node.type in ("text", "code_inline", "html_inline"):
        text = _plain(node.content)
        return f'<font face="Courier">{text}</font>' if node.type == "code_inline" else text
    if node.type in ("softbreak", "hardbreak"):
        return " " if node.type == "softbreak" else "<br/>"
    inner = "".join(_spans(child) for child in node.children)
    tag = {"strong": "b", "em": "i"}.get(node.type)
    return f"<{tag}>{inner}</{tag}>" if tag else inner


def _plain(text: str) -> str:
    known = re.sub("|".join(NOT_IN_FONTS), lambda found: NOT_IN_FONTS[found[0]], text)
    return escape(known, quote=False)
