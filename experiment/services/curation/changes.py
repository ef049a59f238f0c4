"""The history of a test case: every change of a version is appended in the transaction that makes it."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from experiment.models import Item, ItemChange

Action = ItemChange.Action
STRETCH = timedelta(minutes=10)  # of writing, saved every few seconds, which is one change


def record(
    item: Item,
    action: ItemChange.Action,
    *,
    by: User | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    reason: str = "",
) -> ItemChange:
    return ItemChange.objects.create(
        item=item, action=action, by=by, before=before or {}, after=after or {}, reason=reason
    )


def go_on(
    item: Item,
    action: ItemChange.Action,
    *,
    by: User | None,
    before: dict[str, Any],
    after: dict[str, Any],
) -> ItemChange:
    """As `record`; but the writer's own change of a few minutes ago grows by it, where it is the last and of this kind."""
    last = item.changes.order_by("pk").last()
    begun = timezone.now() - STRETCH
    if last is None or last.at < begun or (last.by, last.action) != (by, action):
        return record(item, action, by=by, before=before, after=after)
    last.before, last.after = before | last.before, last.after | after
    last.save(update_fields=["before", "after"])
    return last
