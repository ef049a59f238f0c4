"""A study's first page, which counts along, and its participants one by one."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import LabRequest, for_study
from experiment.lab.watch.page import chosen_kind, live_context
from experiment.models import Study
from experiment.services.recruitment import links


@require_safe
@for_study(Right.SEE_DATA)
def study(request: LabRequest, study: Study) -> HttpResponse:
    now = timezone.now()
    context = live_context(study, chosen_kind(request, study), request.rights, now)
    context["links"] = links(study, settings.BASE_URL + study.get_absolute_url())
    return render(request, "lab/watch/study.html", context)


@require_safe
@for_study(Right.SEE_DATA)
def study_live(request: LabRequest, study: Study) -> HttpResponse:
    """The parts of the study's page that change by themselves."""
    now = timezone.now()
    context = live_context(study, chosen_kind(request, study), request.rights, now)
    # The long table is sent only to those who have it open.
    return render(request, "lab/watch/_live.html", context | {"with_items": "items" in request.GET})
