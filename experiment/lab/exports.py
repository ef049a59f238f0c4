"""Exports: made in the request, or where workers are configured by one of them while the researcher waits."""

import tempfile
from contextlib import ExitStack
from datetime import datetime
from typing import IO, Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.lab.access import for_researchers
from experiment.lab.pages import chosen_kind
from experiment.models import Study, TrialExport
from experiment.services import export_jobs
from experiment.services.export import SETS, export_trials


@require_safe
@for_researchers
def export(request: HttpRequest, study: Study, set_name: str) -> HttpResponseBase:
    if set_name not in SETS:
        raise Http404
    kind = chosen_kind(request, study)
    if settings.JOB_EXECUTOR == "celery":
        job = export_jobs.ensure_exported(study, kind, set_name)
        is_made = job.status == TrialExport.Status.FINISHED
        return redirect("lab:export_file" if is_made else "lab:export_job", study.slug, job.pk)
    with ExitStack() as stack:
        # Written whole before the first byte is sent: a failure is an error page and never half a file.
        new = stack.enter_context(tempfile.TemporaryFile())
        export_trials(study, kind, set_name, new)
        stack.pop_all()  # from here on the response closes it
    return _csv(new, study, kind, set_name, timezone.now())


@require_safe
@for_researchers
def waiting(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return render(request, "lab/export.html", _context(study, pk))


@require_safe
@for_researchers
def live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The part of the waiting page that changes."""
    return render(request, "lab/_export_job.html", _context(study, pk))


@require_safe
@for_researchers
def file(request: HttpRequest, study: Study, pk: int) -> FileResponse:
    job = get_object_or_404(study.exports, pk=pk, status=TrialExport.Status.FINISHED)
    try:
        stored = export_jobs.open_file(job)
    except FileNotFoundError as gone:  # cleared away since the page was shown
        raise Http404 from gone
    assert job.finished_at is not None
    return _csv(stored, study, job.kind, job.set_name, job.finished_at)


@require_POST
@for_researchers
def retry(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    export_jobs.retry(get_object_or_404(study.exports, pk=pk))
    return redirect("lab:export_job", study.slug, pk)


def _context(study: Study, pk: int) -> dict[str, Any]:
    return {"study": study, "export": get_object_or_404(study.exports, pk=pk)}


def _csv(
    content: IO[bytes], study: Study, kind: str, set_name: str, made: datetime
) -> FileResponse:
    name = f"{study.slug}-{kind}-{set_name}-{made:%Y%m%dT%H%MZ}.csv"
    return FileResponse(
        content, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8"
    )
