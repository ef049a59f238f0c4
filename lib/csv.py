"""Values as cells of a CSV file, and lines of one.

Lines are joined here: the standard library's writer looks at every character of a text each time it is written.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from django.utils import timezone

from lib.formulas import FORMULA

QUOTED = re.compile(r'[",\r\n]')


def cell(value: Any) -> str:
    """A value as a CSV cell: what a spreadsheet would run as a formula is defused."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case datetime():
            return timezone.localtime(value).isoformat()
        case date():
            return value.isoformat()
        case str():
            return f"'{value}" if FORMULA.match(value) else value
        case _:
            return str(value)


def field(value: Any) -> str:
    """A value as it stands in a line: its cell, in quotation marks where it needs them."""
    return quoted(cell(value))


def quoted(text: str) -> str:
    """A cell as it stands in a line.

    >>> quoted("slept"), quoted("slept, and ate")
    ('slept', '"slept, and ate"')
    """
    return '"{}"'.format(text.replace('"', '""')) if QUOTED.search(text) else text


def fields(column: Sequence[Any]) -> Sequence[str]:
    """Values of one type, or None, as they stand in lines."""
    match next((value for value in column if value is not None), None):
        case bool() | str():
            # Few distinct ones
            written = {value: field(value) for value in set(column)}
            return [written[value] for value in column]
        case int():
            return ["" if value is None else str(value) for value in column]
        case datetime():
            zone = timezone.get_current_timezone()
            return ["" if at is None else at.astimezone(zone).isoformat() for at in column]
        case _:
            return [field(value) for value in column]


def line(row: Iterable[str]) -> bytes:
    """The line of these fields, in UTF-8."""
    return (",".join(row) + "\n").encode()
