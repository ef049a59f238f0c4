"""Who may know how hard language models find a test case: not those whose verdict on it is still to come."""

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from experiment.domain.roles import FieldRight
from experiment.models import Item, ItemChange, ResearchField, Review
from experiment.services.rights import field_rights_of


def difficulty_seen_by(user: User, research_field: ResearchField) -> Q:
    """The field's versions whose difficulty the user may see.

    Of accepted and retired ones all; of others those that the user wrote or has given a verdict on, as they stand now.
    Who leads the field sees every one but those on which they could still give a verdict.
    """
    in_field = Q(field=research_field.name)
    rights = field_rights_of(user, research_field)
    if FieldRight.CURATE_FIELD not in rights:
        return Q(pk__in=())
    if FieldRight.LEAD_FIELD in rights:
        return in_field & ~waiting_for(user)
    decided = Q(status__in=Item.FROZEN_STATUSES)
    return in_field & (decided | _written_by(user) | Q(Exists(_verdicts_of(user))))


def may_see_difficulty(user: User, item: Item) -> bool:
    """Likewise, of one version; never of a test case that is of no field."""
    research_field = ResearchField.objects.filter(name=item.field).first()
    if research_field is None:
        return False
    return Item.objects.filter(difficulty_seen_by(user, research_field), pk=item.pk).exists()


def waiting_for(user: User) -> Q:
    """Versions in review that the user did not write and has given no verdict on, as they stand now."""
    in_review = Q(status=Item.Status.IN_REVIEW)
    return in_review & ~_written_by(user) & ~Q(Exists(_verdicts_of(user)))


def _written_by(user: User) -> Q:
    """Versions that the user made, or whose text they changed."""
    wrote = (ItemChange.Action.CREATED, ItemChange.Action.TEXT)
    own = ItemChange.objects.filter(item=OuterRef("pk"), by=user, action__in=wrote)
    made = Q(created_by=user) & Q(created_by__isnull=False)
    return made | Q(Exists(own))


def _verdicts_of(user: User) -> QuerySet[Review]:
    return Review.objects.filter(
        item=OuterRef("pk"), sha256=OuterRef("sha256"), reviewer_id=user.pk
    )
