"""Somebody writes a test case: what can be read is the draft's, what cannot yet is kept as it was typed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from experiment.domain.item_checks.characters import storable
from experiment.models import Item, ItemScratch, ResearchField
from experiment.services.curation import drafts
from experiment.services.curation.drafts import EditedSinceError


def scratch_of(item: Item, research_field: ResearchField, user: User) -> ItemScratch:
    """The writer's row of a draft, not stored where there is none."""
    found = ItemScratch.objects.filter(item=item, user=user).first()
    return found or ItemScratch(item=item, field=research_field, user=user, edits=item.edits)


def scratch_named(uid: UUID, research_field: ResearchField, user: User) -> ItemScratch:
    """The writer's row of a test case that a page has begun, not stored where nothing was typed yet.

    Raises:
        ItemScratch.DoesNotExist: the name is somebody else's, or another field's.
    """
    found = ItemScratch.objects.select_related("item").filter(uid=uid).first()
    if found is None:
        return ItemScratch(uid=uid, field=research_field, user=user)
    if (found.field_id, found.user_id) != (research_field.pk, user.pk):
        raise ItemScratch.DoesNotExist
    return found


def begun(research_field: ResearchField, user: User) -> QuerySet[ItemScratch]:
    """What the writer has begun and no draft holds yet, the latest first."""
    own = ItemScratch.objects.filter(field=research_field, user=user, item=None)
    return own.exclude(values={}).order_by("-at")


def state_of(scratch: ItemScratch) -> str:
    """Names what is stored, so that a page can say what it has seen."""
    item = scratch.item
    typed = json.dumps(scratch.values, sort_keys=True).encode()
    held = "new" if item is None else f"{item.edits}"
    return f"{held}-{hashlib.sha256(typed).hexdigest()[:16] if scratch.values else ''}"


def is_overtaken(scratch: ItemScratch) -> bool:
    """Whether the draft has been changed since this was typed."""
    item = scratch.item
    return bool(scratch.values) and item is not None and item.edits != scratch.edits


@transaction.atomic
def finish(scratch: ItemScratch, *, seen: str, window: str = "", **columns: Any) -> Item:
    """Write the draft, or create it. `seen` is `state_of` what the page has read; `window` names the page.

    Raises:
        EditedSinceError: something else is stored by now, and not by this page.
        ValidationError: as in `drafts`.
    """
    scratch, item = _locked(scratch)
    is_same = item is not None and all(getattr(item, k) == v for k, v in columns.items())
    if not is_same or scratch.values:  # sent twice is saved once
        _check_seen(scratch, seen, window)
    if item is None:
        item = drafts.create(scratch.field, by=scratch.user, **columns)
    else:
        item = drafts.write(item, by=scratch.user, edits=item.edits, **columns)
    _leave(scratch, item, {}, window)
    return item


@transaction.atomic
def keep(
    scratch: ItemScratch, typed: Mapping[str, str], *, seen: str, window: str = ""
) -> ItemScratch:
    """Keep what is no test case yet. `seen` and `window` as in `finish`.

    Raises:
        EditedSinceError: something else is stored by now, and not by this page.
    """
    scratch, item = _locked(scratch)
    kept = {name: storable(value) for name, value in typed.items()}
    if scratch.values != kept:
        _check_seen(scratch, seen, window)
    return _leave(scratch, item, kept, window)


def discard(scratch: ItemScratch) -> None:
    """Forget what was typed; what the draft holds stays."""
    if scratch.item is None:
        ItemScratch.objects.filter(pk=scratch.pk).delete()  # perhaps in another window before
    else:
        _leave(scratch, scratch.item, {}, "")


def _locked(scratch: ItemScratch) -> tuple[ItemScratch, Item | None]:
    """The stored row, made where there is none, and its draft; kept so until the transaction ends."""
    rows = ItemScratch.objects.select_for_update()
    if scratch.item_id is None:
        row, _ = rows.get_or_create(
            uid=scratch.uid, defaults={"field": scratch.field, "user": scratch.user}
        )
    else:
        row, _ = rows.get_or_create(
            item_id=scratch.item_id,
            user=scratch.user,
            defaults={"field": scratch.field, "edits": scratch.edits},
        )
    if row.item_id is None:
        return row, None
    row.item = Item.objects.select_for_update(no_key=True).get(pk=row.item_id)
    return row, row.item


def _check_seen(scratch: ItemScratch, seen: str, window: str) -> None:
    """A page's own last save, whose answer it may never have got, is no one else's."""
    item = scratch.item
    is_own = window != "" and window == scratch.window
    is_own = is_own and (item is None or item.edits == scratch.edits)
    if seen != state_of(scratch) and not is_own:
        raise EditedSinceError


def _leave(
    scratch: ItemScratch, item: Item | None, typed: dict[str, str], window: str
) -> ItemScratch:
    scratch.item, scratch.values, scratch.window = item, typed, window
    scratch.edits = 0 if item is None else item.edits
    scratch.save()
    return scratch
