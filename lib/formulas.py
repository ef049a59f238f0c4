"""Texts that a spreadsheet would run as formulas: written so that it does not, and read again as they were."""

import re

# What a spreadsheet would run, also in the full-width spelling that some of them read.
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")  # noqa: RUF001
_GUARDED = re.compile(f"'+(?:{FORMULA.pattern})")


def guarded(text: str) -> str:
    """A text as a cell that no spreadsheet runs, from which `unguarded` gives exactly the text again.

    >>> [guarded(text) for text in ("=1+1", "'=1+1", "'tis")]
    ["'=1+1", "''=1+1", "'tis"]
    """
    return f"'{text}" if FORMULA.match(text) or _GUARDED.match(text) else text


def unguarded(cell: str) -> str:
    """The text of a cell that `guarded` wrote.

    >>> unguarded("'=1+1"), unguarded("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if _GUARDED.match(cell) else cell
