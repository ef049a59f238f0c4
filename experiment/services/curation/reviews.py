"""Reviews and acceptance. A verdict holds for the text with its hash: a changed text has none."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from experiment.domain.item_life import Move
from experiment.models import Item, ResearchField, Review
from experiment.services import audit
from experiment.services.curation import changes
from experiment.services.curation.lifecycle import Status, needed, set_status
from experiment.services.curation.writers import locked, open_moves, writers_of

Verdict = Review.Verdict


@dataclass(frozen=True, slots=True)
class Count:
    """Verdicts on a version's present text by who did not write it."""

    accepting: int
    opposed: int  # those that ask for a revision, or refuse
    needed: int

    @property
    def suffices(self) -> bool:
        """Whether it can be accepted for its reviews: nobody is opposed, and one at least accepts."""
        return not self.opposed and self.accepting >= max(1, self.needed)


@transaction.atomic
def review(item: Item, by: User, verdict: str, text: str = "") -> Item:
    """Give one's verdict on a version's text; the one that completes what the field asks for accepts the version.

    Raises:
        ValidationError: they wrote it or gave one before, it is not in review, or the verdict has no reason.
    """
    item, research_field = locked(item, Move.REVIEW, by)
    if verdict not in Verdict.values:
        raise ValidationError(_("Choose one of the verdicts."))
    if own(item, by) is not None:
        raise ValidationError(_("You have given your verdict on this text."))
    why = text.strip() if verdict == Verdict.ACCEPT else needed(text)
    item.reviews.create(reviewer=by, verdict=verdict, text=why, sha256=item.sha256)
    return settle(item, research_field, by)


@transaction.atomic
def take_back(item: Item, by: User) -> Item:
    """Take one's verdict back, to give another; the history keeps what it was."""
    item, _field = locked(item, Move.REVIEW, by)
    if (given := own(item, by)) is not None:
        before = {"verdict": given.verdict, "why": given.text}
        changes.record(item, changes.Action.DETAILS, by=by, before=before)
        given.delete()
    return item


@transaction.atomic
def accept_alone(item: Item, by: User) -> Item:
    """Its writer accepts a version, where the field asks for no review.

    Raises:
        ValidationError: the field asks for reviews, or somebody is opposed to this text.
    """
    item, research_field = locked(item, Move.ACCEPT, by)
    if count(item, research_field).opposed:
        raise ValidationError(_("Somebody is opposed to this text: change it first."))
    return _accept(item, 0, by)


def settle(item: Item, research_field: ResearchField, by: User) -> Item:
    """Accept a version in review that has the reviews it needs. Its row is locked."""
    counted = count(item, research_field)
    if item.status == Status.IN_REVIEW and counted.suffices:
        return _accept(item, counted.accepting, by)
    return item


def current(item: Item) -> QuerySet[Review]:
    """The verdicts on its present text, but none of who has written in it since."""
    # Without a reviewer: the account is gone, and the verdict stays
    others = Q(reviewer=None) | ~Q(reviewer__in=writers_of(item))
    return item.reviews.filter(others, sha256=item.sha256).select_related("reviewer")


def count(item: Item, research_field: ResearchField) -> Count:
    verdicts = list(current(item).values_list("verdict", flat=True))
    accepting = verdicts.count(Verdict.ACCEPT)
    return Count(accepting, len(verdicts) - accepting, research_field.reviews_needed)


def own(item: Item, user: User) -> Review | None:
    """The user's verdict on the present text."""
    return item.reviews.filter(reviewer=user, sha256=item.sha256).first()


def is_awaited(item: Item, research_field: ResearchField, user: User) -> bool:
    """Whether the user could still review this text: until then others' verdicts, a model's and its difficulty are hidden.

    Of a draft, too: the same text can come back to review, and verdicts on it hold again.
    """
    if own(item, user) is not None or item.is_frozen:
        return False
    if item.status == Status.DRAFT:
        return not writers_of(item).filter(pk=user.pk).exists()
    return Move.REVIEW in open_moves(item, research_field, user)


def _accept(item: Item, reviewers: int, by: User) -> Item:
    item.accepted_by = reviewers
    set_status(item, Status.ACCEPTED, by=by)
    audit.record(
        audit.Action.ITEM_ACCEPTED,
        by=by,
        field=item.field,
        item=str(item),
        sha256=item.sha256,
        reviewers=reviewers,
    )
    return item
