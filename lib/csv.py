"""Values as cells of a CSV file."""

import re
from datetime import date, datetime
from typing import Any

from django.utils import timezone

# What a spreadsheet would run, also in the full-width spelling that some of them read.
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")  # noqa: RUF001


def cell(value: Any) -> str:
    """A value as a CSV cell: what a spreadsheet would run as a formula is defused."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return timezone.localtime(value).isoformat()
        case date():
            return value.isoformat()
        case str():
            return f"'{value}" if FORMULA.match(value) else value
        case _:
            return str(value)
