"""The researcher's pages. Views find what the researcher may see; overview, exporting and use cases do the work."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from experiment import exporting, study_setup
from experiment.kinds import default_kind
from experiment.lab.pages import live_context, study_list
from experiment.models import Participant, Study

View = Callable[..., HttpResponse]


def for_researchers(view: View) -> View:
    """Signed-in people only; a study that is not theirs does not exist for them."""

    @never_cache
    @login_required
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "slug" in kwargs:
            kwargs["study"] = get_object_or_404(
                Study.objects.visible_to(request.user), slug=kwargs.pop("slug")
            )
        return view(request, *args, **kwargs)

    return wrapped


def _kind(request: HttpRequest, study: Study) -> str:
    kind = request.GET.get("kind") or default_kind(study)
    if kind not in Participant.Kind.values:
        raise Http404
    return kind


@require_safe
@for_researchers
def studies(request: HttpRequest) -> HttpResponse:
    visible = Study.objects.visible_to(request.user)
    return render(
        request, "lab/studies.html", {"studies": study_list(visible), "section": "studies"}
    )


@require_safe
@for_researchers
def study(request: HttpRequest, study: Study) -> HttpResponse:
    context = live_context(study, _kind(request, study), timezone.now())
    context |= {
        "participant_url": settings.BASE_URL + study.get_absolute_url(),
        "problems": study_setup.readiness_problems(study),
        "recruitment_states": Study.Recruitment,
    }
    return render(request, "lab/study.html", context)


@require_safe
@for_researchers
def study_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The parts of the study's page that change by themselves."""
    context = live_context(study, _kind(request, study), timezone.now())
    # The long table is sent only to those who have it open.
    return render(request, "lab/_live.html", context | {"with_items": "items" in request.GET})


@require_safe
@for_researchers
def export(request: HttpRequest, study: Study, set_name: str) -> HttpResponse:
    if set_name not in exporting.SETS:
        raise Http404
    kind = _kind(request, study)
    with ExitStack() as stack:
        # Written whole before the first byte is sent: a failure is an error page and never half a file.
        file = stack.enter_context(tempfile.TemporaryFile())
        exporting.export_trials(study, kind, set_name, file)
        stack.pop_all()  # from here on the response closes it
    name = f"{study.slug}-{kind}-{set_name}-{timezone.now():%Y%m%dT%H%MZ}.csv"
    return FileResponse(
        file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8"
    )


@require_POST
@for_researchers
def recruitment(request: HttpRequest, study: Study) -> HttpResponse:
    state = request.POST.get("recruitment", "")
    if state not in Study.Recruitment.values:
        raise Http404
    try:
        study = study_setup.set_recruitment(study, state)
    except ValidationError:
        message = (
            f"Recruitment stays {study.recruitment}: what is missing is listed under Recruitment."
        )
        messages.error(request, message)
    else:
        messages.success(request, f"Recruitment is now {Study.Recruitment(state).label}.")
    return redirect("lab:study", slug=study.slug)
