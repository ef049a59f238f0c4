"""Use case: a model is asked to review what is in review in a field."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.template.loader import render_to_string

from experiment.models import Item, ResearchField
from experiment.services import work
from scoring.domain.backend import ScoringError
from scoring.models import ModelReview, ReviewingRun
from scoring.services.generating.settings import Asked


def default_instructions() -> str:
    return render_to_string("scoring/drafting/review_instructions.txt").strip()


def review_run(
    research_field: ResearchField,
    asked: Asked,
    *,
    instructions: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> ReviewingRun:
    """A run, not stored yet, on the field's versions in review that this model has not reviewed as they stand.

    Raises:
        ScoringError: the model cannot be meant like this, or there is nothing to review.
    """
    asked.check()
    told = instructions.strip() or default_instructions()
    columns = asked.columns(told, by)
    print_ = asked.fingerprint(research_field.pk, told)
    done = ModelReview.objects.filter(
        item=OuterRef("pk"), sha256=OuterRef("sha256"), run__fingerprint=print_
    ).exclude(verdict="")
    rows = Item.objects.filter(field=research_field.name, status=Item.Status.IN_REVIEW)
    rows = rows.exclude(kind=Item.Kind.QUESTION)
    items = list(rows.exclude(Exists(done)).order_by("key").values_list("pk", flat=True)[:limit])
    if not items:
        raise ScoringError(
            "Nothing is left to review: no test case is in review that this model has not reviewed."
        )
    return ReviewingRun(
        field=research_field, items=items, total=len(items), fingerprint=print_, **columns
    )


def newest_open(draft: ReviewingRun) -> ReviewingRun | None:
    """The newest run of the same model and instructions that did not come to its end."""
    same = ReviewingRun.objects.filter(fingerprint=draft.fingerprint)
    return same.exclude(status=ReviewingRun.Status.FINISHED).order_by("-pk").first()


@transaction.atomic
def start(draft: ReviewingRun, by: User) -> ReviewingRun:
    """Store it, and have a worker do it; a form that was sent twice is one run."""
    ResearchField.objects.select_for_update().get(pk=draft.field_id)
    if (same := newest_open(draft)) is not None and same.is_open and same.items == draft.items:
        return same
    draft.save()
    work.start(draft, by)
    return draft
