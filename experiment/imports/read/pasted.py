"""Abstracts that somebody pastes into a page, as a file that an import reads. Plain Python: no database."""

import json
import re

from experiment.imports.read.items import NAMES, TEXT
from lib.tables import folded

_PARAGRAPHS = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
HEADER = "original\taltered\n"


def pasted_table(text: str) -> bytes:
    r"""Rows of a spreadsheet, original and altered beside each other, with names of columns or without; else paragraphs of markup.

    >>> pasted_table("Rats slept.\tRats ran.")
    b'original\taltered\nRats slept.\tRats ran.\n'
    >>> pasted_table("Rats [[slept, ran]].\n\nMice [[ate, hid]].").decode().count("markup")
    2
    """
    text = text.strip()
    first = text.partition("\n")[0]
    if "\t" in first:
        names = {*map(folded, (*NAMES, *TEXT))}
        has_header = any(folded(cell) in names for cell in first.split("\t"))
        return f"{'' if has_header else HEADER}{text}\n".encode()
    lines = (" ".join(part.split()) for part in _PARAGRAPHS.split(text))
    return "".join(f"{json.dumps({'markup': line})}\n" for line in lines if line).encode()
