"""Test cases are written: drafts, what their writer typed that cannot be read yet, and the history of every change."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from itertools import count
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from experiment.domain.item_checks.characters import storable
from experiment.models import Item, ItemChange, ItemScratch, ResearchField
from lib.opened import Edit

Action = ItemChange.Action


def record_change(
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


MOST_DIGITS = 9


@transaction.atomic
def create_draft(
    research_field: ResearchField,
    markup: str,
    *,
    by: User | None,
    key: str = "",
    reason: str = "",
    **details: Any,
) -> Item:
    """A first version, as a draft.

    Raises:
        ValidationError: the markup cannot be read, the key is taken, or a detail is none of what it can be.
    """
    # One after the other: each takes the number after the one before
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    item = Item(
        field=research_field.name,
        key=key or next(unused_keys(research_field)),
        markup=markup,
        created_by=by,
        **details,
    )
    check_details(item, research_field)
    item.full_clean(validate_unique=True)
    item.save()
    after = {"markup": markup} | ({"expert_answer": item.expert_answer} if item.is_question else {})
    record_change(item, Action.CREATED, by=by, after=after, reason=reason)
    return item


@transaction.atomic
def write_draft(item: Item, *, by: User | None, markup: str | None = None, **details: Any) -> Item:
    """Change a draft's text or details.

    Raises:
        ValidationError: it is no draft, the markup cannot be read, or a detail is none of what it can be.
    """
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    wanted = details | ({} if markup is None else {"markup": markup})
    before = {name: getattr(item, name) for name in wanted if getattr(item, name) != wanted[name]}
    if not before:
        return item  # a page that saves once more while its text is sent to review
    if item.is_frozen:
        raise ValidationError("An accepted text cannot change. Start a new version of it.")
    if item.status != Item.Status.DRAFT:
        raise ValidationError("Only a draft can be edited. Return it to draft first.")
    for name in before:
        setattr(item, name, wanted[name])
    check_details(item, ResearchField.objects.get(name=item.field))
    item.full_clean()
    item.edits += 1
    item.save()
    after = {name: wanted[name] for name in before}
    record_change(item, action_of(before), by=by, before=_plain(before), after=_plain(after))
    return item


def action_of(changed: Collection[str]) -> ItemChange.Action:
    """The action that a change of these columns is."""
    if set(changed) == {"note"}:
        return Action.NOTE
    is_text = not {"markup", "expert_answer"}.isdisjoint(changed)
    return Action.TEXT if is_text else Action.DETAILS


def check_details(item: Item, research_field: ResearchField) -> None:
    """Raises ValidationError where the subfield is none of the field's."""
    if item.subfield and not research_field.subfields.filter(name=item.subfield).exists():
        message = f"“{item.subfield}” is not a subfield of {research_field.name}."
        raise ValidationError({"subfield": message})


def unused_keys(research_field: ResearchField) -> Iterator[str]:
    """The field's slug and free numbers, after the highest of its own: a key that another field has counts nothing up."""
    prefix = f"{research_field.slug}-"
    rows = Item.objects.filter(key__startswith=prefix).order_by()
    fields = dict(rows.values_list("key", "field"))
    ends = (key[len(prefix) :] for key in fields if fields[key] == research_field.name)
    # A longer number is no number of ours: the next one might not fit into a key
    numbers = [int(end) for end in ends if end.isdecimal() and len(end) <= MOST_DIGITS]
    every = (f"{prefix}{n:04d}" for n in count(max(numbers, default=0) + 1))
    return (key for key in every if key not in fields)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v.isoformat() if isinstance(v, date) else v for k, v in values.items()}


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
    """Texts that the writer has begun and no draft holds yet, the latest first."""
    own = ItemScratch.objects.filter(field=research_field, user=user, item=None)
    return own.exclude(values={}).order_by("-at")


def last_changes(item: Item, names: Iterable[str]) -> dict[str, Edit]:
    """The last change of each of these columns."""
    found: dict[str, Edit] = {}
    wanted = set(names)
    for change in item.changes.select_related("by").order_by("-pk"):
        for name in wanted & change.after.keys():
            by = "" if change.by is None else change.by.get_username()
            found.setdefault(name, Edit(by, change.at))
    return found


def is_overtaken(scratch: ItemScratch) -> bool:
    """True if the draft has been changed since this was typed."""
    item = scratch.item
    return bool(scratch.values) and item is not None and item.edits != scratch.edits


@contextmanager
def held(scratch: ItemScratch) -> Iterator[ItemScratch]:
    """The stored row, made where there is none; nobody else changes it or its draft until the block ends."""
    with transaction.atomic():
        yield _locked(scratch)[0]


def is_own(scratch: ItemScratch, window: str) -> bool:
    """True if this page's last save, whose answer it may never have got, is what is stored."""
    item = scratch.item
    is_last = window != "" and window == scratch.window
    return is_last and (item is None or item.edits == scratch.edits)


@transaction.atomic
def finish(scratch: ItemScratch, *, window: str = "", **columns: Any) -> Item:
    """Write the draft, or create it. `window` names the page.

    Raises:
        ValidationError: as in `drafts`.
    """
    scratch, item = _locked(scratch)
    if item is None:
        item = create_draft(scratch.field, by=scratch.user, **columns)
    else:
        item = write_draft(item, by=scratch.user, **columns)
    _leave(scratch, item, {}, window)
    return item


@transaction.atomic
def keep(scratch: ItemScratch, typed: Mapping[str, str], *, window: str = "") -> ItemScratch:
    """Keep what is no test case yet. `window` as in `finish`."""
    scratch, item = _locked(scratch)
    kept = {name: storable(value) for name, value in typed.items()}
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


def _leave(
    scratch: ItemScratch, item: Item | None, typed: dict[str, str], window: str
) -> ItemScratch:
    scratch.item, scratch.values, scratch.window = item, typed, window
    scratch.edits = 0 if item is None else item.edits
    scratch.save()
    return scratch
