"""The Work pages: what the background does, with progress; there it is stopped and tried again."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_site_admins, for_study
from experiment.models import Study
from experiment.services import work
from lib.jobs import presence
from lib.jobs.models import Job


@require_safe
@for_site_admins
def site(request: HttpRequest) -> HttpResponse:
    return render(request, "lab/work/work.html", _context(None))


@require_safe
@for_site_admins
def site_live(request: HttpRequest) -> HttpResponse:
    return render(request, "lab/work/_live.html", _context(None))


@require_POST
@for_site_admins
def site_stop(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    work.stop(_job(kind, pk, None), request.user)
    return redirect("lab:site_work")


@require_POST
@for_site_admins
def site_retry(request: HttpRequest, kind: str, pk: int) -> HttpResponse:
    _retry(request, _job(kind, pk, None))
    return redirect("lab:site_work")


@require_safe
@for_study(Right.WORK)
def study(request: HttpRequest, study: Study) -> HttpResponse:
    return render(request, "lab/work/work.html", _context(study))


@require_safe
@for_study(Right.WORK)
def study_live(request: HttpRequest, study: Study) -> HttpResponse:
    return render(request, "lab/work/_live.html", _context(study))


@require_POST
@for_study(Right.WORK)
def study_stop(request: HttpRequest, study: Study, kind: str, pk: int) -> HttpResponse:
    work.stop(_job(kind, pk, study), request.user)
    return redirect("lab:work", study.slug)


@require_POST
@for_study(Right.WORK)
def study_retry(request: HttpRequest, study: Study, kind: str, pk: int) -> HttpResponse:
    _retry(request, _job(kind, pk, study))
    return redirect("lab:work", study.slug)


def _retry(request: HttpRequest, job: Job) -> None:
    try:
        work.retry(job, request.user)
    except ValidationError as error:
        messages.error(request, error.messages[0])


def _job(kind: str, pk: int, study: Study | None) -> Job:
    job = work.find(kind, pk, study)
    if job is None:
        raise Http404
    return job


def _context(study: Study | None) -> dict[str, Any]:
    still_open, ended = work.listing(study)
    live = reverse("lab:work_live", args=[study.slug]) if study else reverse("lab:site_work_live")
    return {
        "study": study,
        "part": "work",
        "section": "" if study else "work",
        "still_open": still_open,
        "ended": ended,
        "n_workers": len(presence.living()),
        "live_url": live,
        "updated_at": timezone.now(),
    }
