"""Lines of a CSV file. Plain Python.

They are joined here: the standard library's writer looks at every character of a text each time it is written.
"""

import re
from collections.abc import Iterable

from lib.formulas import guarded

_QUOTED = re.compile(r'[",\r\n]')


def quoted(text: str) -> str:
    """A cell as it stands in a line.

    >>> quoted("slept"), quoted("slept, and ate")
    ('slept', '"slept, and ate"')
    """
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text


def line(row: Iterable[str]) -> bytes:
    """The line of these fields, in UTF-8."""
    return (",".join(row) + "\n").encode()


def line_of(texts: Iterable[str]) -> bytes:
    """The line of texts that no spreadsheet runs, and from which an import takes exactly these."""
    return line(quoted(guarded(text)) for text in texts)
