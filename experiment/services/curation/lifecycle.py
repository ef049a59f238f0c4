"""A version's way: to review, back to draft, to its next version and to its end. Acceptance is in reviews.py."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.domain.item_life import Move
from experiment.models import Item, Study
from experiment.models.studies import StudyQuerySet
from experiment.services import audit
from experiment.services.curation import changes
from experiment.services.curation.checks import standing
from experiment.services.curation.writers import locked

Status = Item.Status
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
    "expert_answer",
    "categories",
    "template_id",
    "made_from",
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
            _("The checks find what must be mended or explained before a review.")
        )
    return set_status(item, Status.IN_REVIEW, by=by)


@transaction.atomic
def back_to_draft(item: Item, by: User, reason: str) -> Item:
    """Take a version out of review, to be written. Reviews of the same text hold again when it comes back unchanged."""
    item, _field = locked(item, Move.BACK, by)
    return set_status(item, Status.DRAFT, by=by, reason=needed(reason))


@transaction.atomic
def retire(item: Item, by: User, reason: str, *, every_version: bool = False) -> list[Item]:
    """Have a version drawn no more, in every study; or all versions of the test case.

    Studies keep it in their list, and what was answered stays.
    """
    _hold_versions(item.key)
    item, _field = locked(item, Move.RETIRE, by)
    others = Item.objects.filter(key=item.key).exclude(status=Status.RETIRED)
    versions = list(others.order_by("version")) if every_version else [item]
    why = needed(reason)
    for version in versions:
        set_status(version, Status.RETIRED, by=by, reason=why)
        audit.record(
            audit.Action.ITEM_RETIRED, by=by, reason=why, field=item.field, item=str(version)
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
        message = _("%(newest)s is %(status)s already: go on with that one.")
        params = {"newest": newest, "status": newest.get_status_display()}
        raise ValidationError(message, params=params)
    carried = {name: getattr(item, name) for name in CARRIED_FIELDS}
    draft = Item(**carried, markup=item.markup, version=newest.version + 1, created_by=by)
    draft.save()
    after = {"markup": draft.markup, "from_version": item.version}
    after |= {"expert_answer": draft.expert_answer} if draft.is_question else {}
    changes.record(draft, changes.Action.CREATED, by=by, after=after)
    return draft


def set_status(item: Item, status: str, *, by: User | None, reason: str = "") -> Item:
    """Store a step and remember it; who calls has seen to it that it may be taken."""
    before, item.status = item.status, status
    item.save(update_fields=["status", "accepted_by"])
    changes.record(
        item,
        changes.Action.STATUS,
        by=by,
        before={"status": before},
        after={"status": status},
        reason=reason,
    )
    return item


def _hold_versions(key: str) -> None:
    """Who would add a version, or change several, waits; what comes after this reads what they left."""
    rows = Item.objects.select_for_update(no_key=True).filter(key=key).order_by("version")
    list(rows.values_list("pk"))


def needed(words: str) -> str:
    """The words, trimmed. Raises ValidationError where there are none."""
    if not (words := words.strip()):
        raise ValidationError(_("Say why in a few words."))
    return words


def studies_drawing(item: Item) -> StudyQuerySet:
    """Studies that are not over and have this very version in their list."""
    studies = Study.objects.filter(study_items__item=item)
    return studies.exclude(recruitment=Study.Recruitment.CLOSED).order_by("title")
