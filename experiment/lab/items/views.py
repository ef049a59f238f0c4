"""The page of one version, with all that may be done there."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiment.domain.roles import FieldRight, Right
from experiment.lab.access import for_field, user_of
from experiment.lab.items.forms import CommentForm, ReasonForm, RetireForm, ReviewForm
from experiment.models import Item, ResearchField
from experiment.services.curation import comments, reviews
from experiment.services.curation.checks import standing
from experiment.services.curation.history import history
from experiment.services.curation.lifecycle import studies_drawing
from experiment.services.curation.writers import open_moves, writers_of
from experiment.services.rights import studies_with
from lib.http import UNPROCESSABLE


def item_of(research_field: ResearchField, pk: int) -> Item:
    """The version, where it is one of the field's."""
    rows = Item.objects.select_related("created_by")
    return get_object_or_404(rows, field=research_field.name, pk=pk)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def item(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    return item_page(request, research_field, item_of(research_field, pk))


def item_page(
    request: HttpRequest, research_field: ResearchField, item: Item, **changed: Any
) -> HttpResponse:
    """The page; `changed` are forms that were sent with errors, or other parts of the context."""
    user = user_of(request)
    awaited = reviews.is_awaited(item, research_field, user)
    versions = list(Item.objects.filter(key=item.key).order_by("-version"))
    accepted = [v.version for v in versions if v.status == Item.Status.ACCEPTED]
    drawing, own = studies_drawing(item), studies_with(user, Right.SEE_ITEMS)
    context: dict[str, Any] = {
        "section": "fields",
        "research_field": research_field,
        "item": item,
        "writers": writers_of(item),
        "standing": standing(item),
        "moves": open_moves(item, research_field, user),
        "awaited": awaited,
        "reviews": reviews.current(item),
        "own_review": reviews.own(item, user),
        "count": reviews.count(item, research_field),
        "history": history(item, without_verdicts=awaited),
        "versions": versions,
        "newest_accepted": max(accepted, default=None),
        "studies": drawing.filter(pk__in=own.values("pk")),
        "n_studies": drawing.count(),
        "unfinished": item.scratches.exclude(values={}).select_related("user"),
        "threads": comments.threads(item),
        "comment_form": CommentForm(),
        "review_form": ReviewForm(prefix="review"),
        "back_form": ReasonForm(prefix="back"),
        "retire_form": RetireForm(prefix="retire"),
    }
    status = UNPROCESSABLE if changed else None
    return render(request, "lab/items/item.html", context | changed, status=status)
