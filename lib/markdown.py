"""Texts of people in Markdown files: words, never HTML, a link or a table's stroke. Pure."""

import re

_ENTITY = re.compile(r"&(?=#?\w+;)")
_MARKS = {mark: f"\\{mark}" for mark in "\\|*_`[]#~"}
_ESCAPES = str.maketrans({"<": "&lt;"} | _MARKS)
# What some renderers make a link of by itself
_ADDRESS = re.compile(r"(?<=\w):(?=//)|(?<=\bwww)\.", re.I)
_LINE_START = re.compile(r"^(?:[-+=>]|\d+(?=[.)]))")


def escaped(text: str) -> str:
    r"""A text in one line of Markdown, none of it read as such.

    >>> escaped("a|b <i>\nhttps://x.org")
    'a\\|b &lt;i> https\\://x.org'
    """
    line = _ENTITY.sub("&amp;", " ".join(text.split())).translate(_ESCAPES)
    line = _ADDRESS.sub(r"\\\g<0>", line)
    if start := _LINE_START.match(line):
        at = start.end() if start[0].isdigit() else 0
        line = f"{line[:at]}\\{line[at:]}"
    return line
