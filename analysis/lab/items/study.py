"""The list of a study's test cases: what is drawn, what is paused, and how people did where one may see that."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import LabRequest, for_study, user_of
from experiment.models import Study

PER_PAGE = 50


@require_safe
@for_study(Right.SEE_ITEMS)
def test_cases(request: LabRequest, study: Study) -> HttpResponse:
    # Here, since pages without figures do without what computes them
    from analysis.services.items.of_study import study_lines

    texts = ("item__markup", "item__original", "item__altered", "item__note")
    rows = study.study_items.select_related("item").defer(*texts)
    ordered = rows.order_by("item__kind", "item__source", "item__key")
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    rights = request.rights
    sees_data = Right.SEE_DATA in rights
    context = {
        "study": study,
        "page": page,
        "lines": study_lines(study, list(page), user_of(request), with_data=sees_data),
        "n_paused": study.study_items.exclude(paused_at=None).count(),
        "sees_data": sees_data,
        "may_curate": Right.CURATE in rights,
    }
    return render(request, "lab/items/study.html", context)
