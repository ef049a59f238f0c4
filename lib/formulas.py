"""Texts that a spreadsheet would run as formulas: written so that it does not, and read again as they were.

Which mark separates cells is up to the spreadsheet: where it is a semicolon, `good;=1+1` is two cells, whatever quotation marks a file
of commas has around it. So an apostrophe stands at each place of a text where a cell could begin and would be a formula.
"""

import re

# What a spreadsheet would run, also in the full-width spelling that some of them read
_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001
_MARKS = ",;|\t\r\n"  # what may separate cells or rows
# Control characters, and what else nobody sees: all of Unicode's categories Cc and Cf that are no mark
_UNSEEN = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
# After these, spaces and quotation marks, which a spreadsheet may leave out; they never reach to the next place where a cell could begin
_FORMULA = rf'(?:[^\S\t\r\n]|["{_UNSEEN}])*[{_SIGNS}]'
_BLANK = "[\t\r\n]"  # at the very beginning, where it may be left out as well
_PLACES = rf"(?:^(?={{0}}{_BLANK})|(^|[{_MARKS}])(?={{0}}{_FORMULA}))"
_OPEN = re.compile(_PLACES.format("'*"))
_GUARDED = re.compile(_PLACES.format("'+") + "'")
_MAY_BE_ONE = re.compile(f"^'*{_BLANK}|[{_SIGNS}]")


def guarded(text: str) -> str:
    """A text as a cell that no spreadsheet runs, from which `unguarded` gives exactly the text again.

    >>> [guarded(text) for text in ("=1+1", "'=1+1", "'tis", "good; =1+1", "3-1")]
    ["'=1+1", "''=1+1", "'tis", "good;' =1+1", '3-1']
    """
    return _OPEN.sub(r"\1'", text) if _MAY_BE_ONE.search(text) else text


def unguarded(cell: str) -> str:
    """The text of a cell that `guarded` wrote.

    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("good;' =1+1")
    ('=1+1', "'tis", 'good; =1+1')
    """
    return _GUARDED.sub(r"\1", cell) if "'" in cell else cell
