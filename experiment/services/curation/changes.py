"""The history of a test case: every change of a version is appended in the transaction that makes it."""

from typing import Any

from django.contrib.auth.models import User

from experiment.models import Item, ItemChange

Action = ItemChange.Action


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
