"""Curators write, review, accept, revise and retire items."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.models import Item

Status = Item.Status

# What may follow what; everything else is refused.
NEXT_STATUSES: Mapping[str, tuple[str, ...]] = {
    Status.DRAFT: (Status.IN_REVIEW, Status.ACCEPTED),
    Status.IN_REVIEW: (Status.DRAFT, Status.ACCEPTED),
    Status.ACCEPTED: (Status.RETIRED,),
    Status.RETIRED: (),
}
# A new version starts from the old one's description; text and state are its own.
CARRIED_FIELDS = (
    "key",
    "kind",
    "source",
    "generator",
    "field",
    "subfield",
    "doi",
    "publication_date",
    "collection",
    "collection_row",
    "is_demo",
    "note",
)


@transaction.atomic
def set_status(item: Item, status: str) -> Item:
    """Move an item along draft -> in review -> accepted -> retired."""
    item = Item.objects.select_for_update().get(pk=item.pk)
    if status == item.status:
        return item
    if status not in NEXT_STATUSES[item.status]:
        raise ValidationError(
            _("%(item)s: an item that is %(before)s cannot become %(after)s."),
            params={
                "item": item,
                "before": item.get_status_display(),
                "after": Status(status).label,
            },
        )
    item.status = status
    item.save(update_fields=["status"])
    return item


@transaction.atomic
def revise(item: Item, *, user: User | None = None, **changes: Any) -> Item:
    """A draft of the next version, with the given fields changed; the version at hand stays as it is."""
    newest = Item.objects.select_for_update().filter(key=item.key).order_by("-version")[0]
    fields = (
        {name: getattr(item, name) for name in CARRIED_FIELDS} | {"markup": item.markup} | changes
    )
    revision = Item(**fields, version=newest.version + 1, created_by=user)
    revision.save()
    return revision
