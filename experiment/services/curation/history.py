"""The changes of a version as a person reads them, the newest first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from experiment.domain.text_diff import Piece, word_diff
from experiment.models import Item, ItemChange

Action = ItemChange.Action


@dataclass(frozen=True, slots=True)
class Value:
    """A column that changed, in words."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What somebody did; `pieces` where the text changed, `from_version` where a version was made from an older one."""

    at: datetime
    by: User | None
    action: str
    label: str
    reason: str
    pieces: tuple[Piece, ...]
    values: tuple[Value, ...]
    from_version: int | None


def history(item: Item, *, without_verdicts: bool = False) -> list[Entry]:
    """All changes; those that tell a verdict may be left out, for who has none given yet."""
    rows = item.changes.select_related("by")
    shown = [row for row in rows if not (without_verdicts and "verdict" in row.before)]
    return [_entry(row) for row in reversed(shown)]


def _entry(row: ItemChange) -> Entry:
    before, after = dict(row.before), dict(row.after)
    texts = before.pop("markup", ""), after.pop("markup", "")
    from_version = after.pop("from_version", None)
    changed = row.action == Action.TEXT and texts[0] != texts[1]
    names = list(dict.fromkeys([*before, *after]))
    return Entry(
        at=row.at,
        by=row.by,
        action=row.action,
        label=str(row.get_action_display()),
        reason=row.reason,
        pieces=word_diff(*texts) if changed else (),
        values=tuple(Value(_name(n), _said(n, before), _said(n, after)) for n in names),
        from_version=from_version,
    )


def _name(column: str) -> str:
    columns = {field.name: field for field in Item._meta.concrete_fields}
    return str(columns[column].verbose_name) if column in columns else column


def _said(column: str, values: dict[str, Any]) -> str:
    """A stored value as pages say it."""
    value = values.get(column)
    if isinstance(value, dict):  # categories
        return "; ".join(f"{name}: {', '.join(found)}" for name, found in value.items())
    choices = {field.name: field for field in Item._meta.concrete_fields}.get(column)
    known = dict(getattr(choices, "flatchoices", ()))
    return "" if value is None else str(known.get(value, value))
