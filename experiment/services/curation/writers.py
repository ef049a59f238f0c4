"""Who wrote a version, and what somebody may do with it."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from experiment.domain.item_life import Move, moves
from experiment.domain.roles import FieldRight
from experiment.models import Item, ItemChange, ResearchField
from experiment.services.rights import field_rights_of


def writers_of(item: Item) -> QuerySet[User]:
    """Who made the version, and who changed its text."""
    wrote = item.changes.filter(action__in=(ItemChange.Action.CREATED, ItemChange.Action.TEXT))
    is_writer = Q(pk=item.created_by_id) | Q(pk__in=wrote.values("by"))
    return User.objects.filter(is_writer).order_by("username")


def open_moves(item: Item, research_field: ResearchField, user: User) -> frozenset[Move]:
    """What the user may do with the version as it stands; nothing for who does not belong to the field."""
    rights = field_rights_of(user, research_field)
    if FieldRight.CURATE_FIELD not in rights:
        return frozenset()
    writers = list(writers_of(item))
    return moves(
        item.status,
        is_writer=user in writers,
        has_writer=bool(writers),
        is_lead=FieldRight.LEAD_FIELD in rights,
        reviews_needed=research_field.reviews_needed,
    )


def locked(item: Item, move: Move, by: User) -> tuple[Item, ResearchField]:
    """The version as it stands, kept so until the transaction ends; one who would take a step at the same moment waits.

    Raises:
        ValidationError: the user may not take this step with the version in its present state.
    """
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    research_field = ResearchField.objects.get(name=item.field)
    if move not in open_moves(item, research_field, by):
        message = _("%(item)s is %(status)s now: you cannot do this with it.")
        params = {"item": item, "status": item.get_status_display()}
        raise ValidationError(message, params=params)
    return item, research_field
