"""A version's way: who wrote it, to review, to acceptance, to its next version and to its end; and who may know how hard it is.

A verdict holds for the text and the details that it was given on (`Item.reviewed_sha256`): whoever changes any of them has
written in the version, which then has no verdicts.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count as CountOf
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from experiment.domain.item_columns import DETAILS
from experiment.domain.item_life import Move, moves
from experiment.domain.roles import FieldRight
from experiment.models import Item, ItemChange, QuestionTemplate, ResearchField, Review, Study
from experiment.models.items import ItemQuerySet
from experiment.models.studies import StudyQuerySet
from experiment.services import audit
from experiment.services.curation import writing
from experiment.services.curation.remarks import standing
from experiment.services.rights import field_rights_of, fields_of
from lib.formatting import count as phrase
from lib.formatting import verb

# Questions that a template made have its words, other than those that a file says belong to it
FILLED = Q(made_from__has_key="row")


def writers_of(item: Item) -> QuerySet[User]:
    """The people who made the version, changed its text or its details, or wrote the template that made it.

    Also of earlier versions with the same text.
    """
    same = Item.objects.filter(Q(pk=item.pk) | Q(key=item.key, sha256=item.sha256))
    wrote = ItemChange.objects.filter(item__in=same, action__in=ItemChange.WROTE)
    templates = QuestionTemplate.objects.filter(questions__in=same.filter(FILLED))
    is_writer = Q(pk__in=same.values("created_by")) | Q(pk__in=wrote.values("by"))
    is_writer |= Q(pk__in=templates.values("writers"))
    return User.objects.filter(is_writer).order_by("username")


def open_moves(item: Item, research_field: ResearchField, user: User) -> frozenset[Move]:
    """The moves that the user may make with the version as it stands; none for a user outside the field."""
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
        if move == Move.REVIEW and item.status == Status.IN_REVIEW and by in writers_of(item):
            raise ValidationError("You wrote this text. Someone else must review it.")
        status = item.get_status_display()
        raise ValidationError(
            f"The state of this version is now “{status}”, so this action is not possible."
        )
    return item, research_field


Status = Item.Status
# A new version starts from the old one's description; text and state are its own.
CARRIED_FIELDS = (
    *("key", "field", *DETAILS, "collection", "collection_row", "is_demo"),
    *("expert_answer", "categories", "template_id", "made_from"),
)


@transaction.atomic
def submit(item: Item, by: User) -> Item:
    """Send a draft to review.

    Raises:
        ValidationError: it is no draft, or its checks find what keeps it from review.
    """
    item, _field = locked(item, Move.SUBMIT, by)
    if not standing(item).may_be_reviewed:
        raise ValidationError(
            "The checks found problems that must be corrected or explained before a review."
        )
    return set_status(item, Status.IN_REVIEW, by=by)


@transaction.atomic
def back_to_draft(item: Item, by: User, reason: str) -> Item:
    """Take a version out of review, to be written. Its reviews hold again when it comes back unchanged."""
    item, _field = locked(item, Move.BACK, by)
    return set_status(item, Status.DRAFT, by=by, reason=needed(reason))


@transaction.atomic
def retire(item: Item, by: User, reason: str, *, every_version: bool = False) -> list[Item]:
    """Have a version drawn no more, in every study; or all versions of the test case.

    Studies keep it in their list, and what was answered stays.
    """
    _hold_versions(item.key)
    item, _field = locked(item, Move.RETIRE, by)
    others = Item.objects.filter(key=item.key, field=item.field).exclude(status=Status.RETIRED)
    versions = list(others.order_by("version")) if every_version else [item]
    why = needed(reason)
    for version in versions:
        set_status(version, Status.RETIRED, by=by, reason=why)
        # Each study's people are told as well: their participants receive it no more
        for study in (None, *studies_drawing(version)):
            audit.record(
                audit.Action.ITEM_RETIRED,
                by=by,
                study=study,
                reason=why,
                field=item.field,
                item=str(version),
            )
    return versions


@transaction.atomic
def revise(item: Item, by: User | None = None) -> Item:
    """A draft of the next version; the version at hand stays as it is, and so do those who were given it.

    Raises:
        ValidationError: a newer version is still being written or reviewed.
    """
    _hold_versions(item.key)
    newest = Item.objects.filter(key=item.key).latest("version")
    if not newest.is_frozen:
        status = newest.get_status_display()
        raise ValidationError(
            f"The newest version, {newest}, is in the state “{status}”. Continue with that version."
        )
    carried = {name: getattr(item, name) for name in CARRIED_FIELDS}
    draft = Item(**carried, markup=item.markup, version=newest.version + 1, created_by=by)
    draft.save()
    after = {"markup": draft.markup, "from_version": item.version}
    after |= {"expert_answer": draft.expert_answer} if draft.is_question else {}
    writing.record_change(draft, writing.Action.CREATED, by=by, after=after)
    return draft


def set_status(item: Item, status: str, *, by: User | None, reason: str = "") -> Item:
    """Store a step and remember it; who calls has seen to it that it may be taken."""
    before, item.status = item.status, status
    item.save(update_fields=["status", "accepted_by"])
    writing.record_change(
        item,
        writing.Action.STATUS,
        by=by,
        before={"status": before},
        after={"status": status},
        reason=reason,
    )
    return item


@contextmanager
def held(item: Item) -> Iterator[Item]:
    """The version as it is stored now; nobody changes it or another version until the block ends."""
    with transaction.atomic():
        _hold_versions(item.key)
        yield Item.objects.get(pk=item.pk)


def _hold_versions(key: str) -> None:
    """Holds the versions: others who would add or change some wait, and what comes after this reads what they left."""
    rows = Item.objects.select_for_update(no_key=True).filter(key=key).order_by("version")
    list(rows.values_list("pk"))


def needed(words: str) -> str:
    """The words, trimmed. Raises ValidationError where there are none."""
    if not (words := words.strip()):
        raise ValidationError("Please give a short reason.")
    return words


def studies_drawing(item: Item) -> StudyQuerySet:
    """Studies that are not over and have this very version in their list."""
    studies = Study.objects.filter(study_items__item=item)
    return studies.exclude(recruitment=Study.Recruitment.CLOSED).order_by("title")


Verdict = Review.Verdict


@dataclass(frozen=True, slots=True)
class Count:
    """Verdicts on a version's present text by who did not write it."""

    accepting: int
    opposed: int  # those that ask for a revision, or refuse
    needed: int

    @property
    def suffices(self) -> bool:
        """True if it can be accepted for its reviews: nobody is opposed, and one at least accepts."""
        return not self.opposed and self.accepting >= max(1, self.needed)


@transaction.atomic
def review(item: Item, by: User, verdict: str, text: str = "") -> Item:
    """Give one's verdict on a version's text; the one that completes what the field asks for accepts the version.

    Raises:
        ValidationError: they wrote it or gave one before, it is not in review, or the verdict has no reason.
    """
    item, research_field = locked(item, Move.REVIEW, by)
    if verdict not in Verdict.values:
        raise ValidationError("Choose one of the verdicts.")
    if own(item, by) is not None:
        raise ValidationError("You have already given your verdict on this text.")
    why = text.strip() if verdict == Verdict.ACCEPT else needed(text)
    item.reviews.create(reviewer=by, verdict=verdict, text=why, sha256=item.reviewed_sha256)
    return settle(item, research_field, by)


@transaction.atomic
def take_back(item: Item, by: User) -> Item:
    """Take one's verdict back, to give another. What it was stays beside the next one, which is given in the knowledge of others'."""
    item, _field = locked(item, Move.REVIEW, by)
    if (given := own(item, by)) is not None:
        before = {"verdict": given.verdict, "why": given.text}
        writing.record_change(item, writing.Action.VERDICT, by=by, before=before)
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
        raise ValidationError("Somebody has rejected this text. Change it first.")
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
    return item.reviews.filter(others, sha256=item.reviewed_sha256).select_related("reviewer")


def first_verdicts(item: Item) -> dict[int, str]:
    """By user, the first verdict on the version as it stands of who took it back: they gave it before they saw others'."""
    wrote = item.changes.filter(action__in=ItemChange.WROTE).order_by("-pk").values("pk")[:1]
    after = Coalesce(Subquery(wrote), Value(0))
    taken_back = item.changes.filter(action=ItemChange.Action.VERDICT, pk__gt=after)
    rows = taken_back.order_by("-pk").values_list("by", "before")
    return {user: str(Verdict(before["verdict"]).label) for user, before in rows if user}


def count(item: Item, research_field: ResearchField) -> Count:
    verdicts = list(current(item).values_list("verdict", flat=True))
    accepting = verdicts.count(Verdict.ACCEPT)
    return Count(accepting, len(verdicts) - accepting, research_field.reviews_needed)


def own(item: Item, user: User) -> Review | None:
    """The user's verdict on the present text."""
    return item.reviews.filter(reviewer=user, sha256=item.reviewed_sha256).first()


def is_awaited(item: Item, research_field: ResearchField, user: User) -> bool:
    """True if the user could still review this text: until then others' verdicts, a model's and its difficulty are hidden.

    Of a draft, too: the same text can come back to review, and verdicts on it hold again.
    """
    if own(item, user) is not None or item.is_frozen:
        return False
    if item.status == Status.DRAFT:
        return not writers_of(item).filter(pk=user.pk).exists()
    return Move.REVIEW in open_moves(item, research_field, user)


def not_reviewed(items: ItemQuerySet) -> str:
    """A sentence for methods and exports on accepted test cases of this site that none but their writers accepted here; else empty."""
    own = items.filter(kind__in=(Item.Kind.TEST, Item.Kind.QUESTION), collection="", is_demo=False)
    n = own.filter(Q(accepted_by=None) | Q(accepted_by=0)).count()
    if not n:
        return ""
    were = f"{n} of {phrase(own.count(), 'test case')} {verb(n, 'was', 'were')} not reviewed"
    return f"{were}: on this site, nobody other than {verb(n, 'its writer', 'their writers')} accepted {verb(n, 'it', 'them')}."


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


def n_waiting_for(user: User) -> dict[tuple[str, bool], int]:
    """How many versions wait for the user's verdict, by the field's name and whether they are questions."""
    rows = Item.objects.filter(waiting_for(user), field__in=fields_of(user).values("name"))
    by_kind = rows.order_by().values_list("field", "kind").annotate(n=CountOf("pk"))
    found = Counter[tuple[str, bool]]()
    for field, kind, n in by_kind:
        found[field, kind == Item.Kind.QUESTION] += n
    return dict(found)


def sent_back_to(user: User) -> list[Review]:
    """Verdicts that ask the user to revise what they wrote, or reject it, until they change it or it is retired; the oldest first."""
    open_states = (Item.Status.DRAFT, Item.Status.IN_REVIEW)
    fields = fields_of(user).values("name")
    written = Item.objects.filter(_written_by(user), status__in=open_states, field__in=fields)
    opposed = Review.objects.filter(
        item__in=written,
        sha256=F("item__reviewed_sha256"),
        verdict__in=(Verdict.REVISE, Verdict.REFUSE),
    )
    # As the version's own page counts them
    return [each for each in opposed.select_related("item") if each in current(each.item)]


def _written_by(user: User) -> Q:
    """As `writers_of`: versions that the user or their template made, or that they changed, and those with the same text."""
    wrote = ItemChange.objects.filter(by=user, action__in=ItemChange.WROTE).values("item")
    templates = QuestionTemplate.objects.filter(writers=user.pk).values("pk")
    made = Q(created_by=user.pk) | (FILLED & Q(template__in=templates))
    own = Item.objects.filter(made | Q(pk__in=wrote))
    same = own.filter(key=OuterRef("key"), sha256=OuterRef("sha256"))
    return Q(Exists(own.filter(pk=OuterRef("pk")))) | Q(Exists(same))


def _verdicts_of(user: User) -> QuerySet[Review]:
    return Review.objects.filter(
        item=OuterRef("pk"), sha256=OuterRef("reviewed_sha256"), reviewer_id=user.pk
    )
