"""Values as cells of a CSV file."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from lib.csv_lines import quoted
from lib.formulas import guarded


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
        case float() | Decimal():
            return str(value)
        case _:
            return guarded(str(value))


def field(value: Any) -> str:
    """A value as it stands in a line: its cell, in quotation marks where it needs them."""
    return quoted(cell(value))


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
