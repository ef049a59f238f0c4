"""Drafts are created and written. A page, an import and a model's draft all come through here."""

from datetime import date
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.models import Item, ResearchField
from experiment.services.curation import changes

# What may be said of a draft besides its text
DETAILS = ("kind", "source", "generator", "subfield", "doi", "publication_date", "note")
MOST_DIGITS = 9


class EditedSinceError(Exception):
    """Somebody else, or another window, has changed the text since it was read."""


@transaction.atomic
def create(
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
        key=key or unused_key(research_field),
        markup=markup,
        created_by=by,
        **details,
    )
    check_details(item, research_field)
    item.full_clean(validate_unique=True)
    item.save()
    after = {"markup": markup} | ({"expert_answer": item.expert_answer} if item.is_question else {})
    changes.record(item, changes.Action.CREATED, by=by, after=after, reason=reason)
    return item


@transaction.atomic
def write(
    item: Item, *, by: User | None, edits: int, markup: str | None = None, **details: Any
) -> Item:
    """Change a draft's text or details. `edits` is `Item.edits` as the writer last read it.

    Raises:
        EditedSinceError: it was changed in between.
        ValidationError: it is no draft, the markup cannot be read, or a detail is none of what it can be.
    """
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    wanted = details | ({} if markup is None else {"markup": markup})
    before = {name: getattr(item, name) for name in wanted if getattr(item, name) != wanted[name]}
    if not before:
        return item  # a page that saves once more while its text is sent to review
    if item.is_frozen:
        raise ValidationError(_("An accepted text stays as it is: start a new version of it."))
    if item.status != Item.Status.DRAFT:
        raise ValidationError(_("Only a draft can be written: take it back to draft first."))
    if item.edits != edits:
        raise EditedSinceError
    for name in before:
        setattr(item, name, wanted[name])
    check_details(item, ResearchField.objects.get(name=item.field))
    item.full_clean()
    item.edits += 1
    item.save()
    is_text = not before.keys().isdisjoint(("markup", "expert_answer"))
    action = changes.Action.TEXT if is_text else changes.Action.DETAILS
    after = {name: wanted[name] for name in before}
    changes.record(item, action, by=by, before=_plain(before), after=_plain(after))
    return item


def check_details(item: Item, research_field: ResearchField) -> None:
    """Raises ValidationError where the subfield is none of the field's."""
    if item.subfield and not research_field.subfields.filter(name=item.subfield).exists():
        message = _("“%(subfield)s” is no subfield of %(field)s.")
        params = {"subfield": item.subfield, "field": research_field.name}
        raise ValidationError({"subfield": ValidationError(message, params=params)})


def unused_key(research_field: ResearchField) -> str:
    """The field's slug and the next free number."""
    prefix = f"{research_field.slug}-"
    taken = Item.objects.filter(key__startswith=prefix).values_list("key", flat=True)
    ends = (key[len(prefix) :] for key in taken)
    # A longer number is no number of ours: the next one might not fit into a key
    numbers = [int(end) for end in ends if end.isdecimal() and len(end) <= MOST_DIGITS]
    return f"{prefix}{max(numbers, default=0) + 1:04d}"


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: v.isoformat() if isinstance(v, date) else v for k, v in values.items()}
