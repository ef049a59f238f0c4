"""The test cases of a study, to read; they are written on the pages of their field (experiment/lab/items).

The study goes on drawing from the versions that it has, until a researcher chooses others under Set up.
"""

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from experiment.models.items import ItemQuerySet
from experiment.services.rights import fields_of

PER_PAGE = 50


@require_safe
@for_study(Right.SEE_ITEMS)
def test_cases(request: HttpRequest, study: Study) -> HttpResponse:
    rows = _versions(study).order_by("key", "-version").defer("original", "altered")
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    pinned = set(study.study_items.values_list("item_id", flat=True))
    context = {"study": study, "page": page, "pinned": pinned}
    return render(request, "lab/curation/test_cases.html", context)


@require_safe
@for_study(Right.SEE_ITEMS)
def test_case(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    item = get_object_or_404(_versions(study), pk=pk)
    context = {
        "study": study,
        "item": item,
        "is_pinned": study.study_items.filter(item=item).exists(),
        "research_field": fields_of(user_of(request)).filter(name=item.field).first(),
    }
    return render(request, "lab/curation/test_case.html", context)


def _versions(study: Study) -> ItemQuerySet:
    """Of the test cases that the study draws from: its versions, and those that were accepted."""
    shown = Q(pk__in=study.items.values("pk")) | Q(status__in=Item.FROZEN_STATUSES)
    return Item.objects.filter(shown, key__in=study.items.values("key"))
