"""Abstracts that somebody pastes into a page, as a file that an import reads. Plain Python: no database."""

import json
import re

from experiment.imports.read.items import NAMES, TEXT
from experiment.imports.read.rows import FileRefusedError
from lib.csv_lines import line_of
from lib.tables import folded

_PARAGRAPHS = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
# Spreadsheets quote a cell with line breaks or tabs as a whole; any other quotation mark is one of the text
_CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"(?=[\t\n]|\Z)|([^\t\n]*)')
HEADER = ["original", "altered"]


def pasted_table(text: str) -> bytes:
    r"""Rows of a spreadsheet, original and altered beside each other, with names of columns or without; else paragraphs of markup.

    Raises:
        FileRefusedError: lines of a paragraph look like abstracts of their own.

    >>> pasted_table("Rats slept.\tRats ran.")
    b'original,altered\nRats slept.,Rats ran.\n'
    >>> pasted_table("Rats [[slept, ran]].\n\nMice [[ate, hid]].").decode().count("markup")
    2
    """
    text = text.strip()
    rows = _rows(text)
    if len(rows[0]) > 1:
        names = {*map(folded, (*NAMES, *TEXT))}
        has_header = any(folded(cell) in names for cell in rows[0])
        return b"".join(line_of(row) for row in (rows if has_header else [HEADER, *rows]))
    paragraphs = [part for part in _PARAGRAPHS.split(text) if part.strip()]
    for number, part in enumerate(paragraphs, 1):
        _check_lines(part, number)
    lines = (" ".join(part.split()) for part in paragraphs)
    return "".join(f"{json.dumps({'markup': line})}\n" for line in lines).encode()


def _rows(text: str) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    at = 0
    while found := _CELL.match(text, at):
        quoted, plain = found.groups()
        rows[-1].append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end() + 1
        if at > len(text):
            break
        if text[at - 1] == "\n":
            rows.append([])
    return rows


def _check_lines(paragraph: str, number: int) -> None:
    """A line that begins in lower case goes on with the sentence before it; another one may be the next abstract."""
    first, last = paragraph.find("[["), paragraph.rfind("[[")
    for found in re.finditer(r"\n\s*(?![a-zß-öø-ÿ\s])", paragraph):
        if 0 <= first < found.start() and found.end() <= last:
            raise FileRefusedError(
                f"Several lines of abstract {number} contain “[[”. Leave an empty line between abstracts, and write each abstract on one line."
            )
