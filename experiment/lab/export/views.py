"""Exports: made in the request, or where workers are configured by one of them while the researcher waits."""

import shlex
import tempfile
from contextlib import ExitStack
from typing import IO, Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.export_form import DATA_SET, Form
from experiment.domain.roles import Right
from experiment.domain.trial_query import TrialQuery
from experiment.lab.access import for_study
from experiment.lab.export.forms import ExportForm
from experiment.models import Study, TrialExport
from experiment.services.export import jobs
from experiment.services.export.files import Manifest, export_trials, record_export
from experiment.services.export.header import columns_of
from experiment.services.export.identities import export_identities
from experiment.services.export.release import dropped, first_released, released_columns
from experiment.services.export.trials import count, first_rows, is_quickly_counted
from experiment.services.rules_under_way import note_beside_numbers
from lib.csv import cell
from lib.table_files import CONTENT_TYPES, ZIP_TYPE

FIRST_ROWS, MOST_REASON = 10, 1_000


@require_safe
@for_study(Right.EXPORT)
def page(request: HttpRequest, study: Study) -> HttpResponse:
    """What can be asked for, how many rows that is, and the first of them."""
    form = ExportForm(study, request.GET)
    context: dict[str, Any] = {"study": study, "form": form, "note": ""}
    if form.errors:
        return render(request, "lab/export/page.html", context, status=400)
    query = form.query
    columns = columns_of(study)
    names = [c.name for c in (released_columns(columns, form.form) if form.form.k else columns)]
    n_rows = count(study, query) if is_quickly_counted(study, query) else None
    if not form.form.k:
        rows = first_rows(study, query, FIRST_ROWS)
    elif (
        n_rows is not None and n_rows <= jobs.LARGE
    ):  # how coarse answers are depends on everybody's
        rows = first_released(study, query, form.form, FIRST_ROWS)
    else:
        rows = []
    context |= {
        "n_rows": n_rows,
        "names": names,
        "rows": [[cell(row[name]) for name in names] for row in rows],
        "dropped": dropped(columns, form.form),
        "is_large": not rows and n_rows != 0,
        "note": note_beside_numbers(study, query.kind, query.rules),
        "command": command(study, form.query, form.form),
    }
    return render(request, "lab/export/page.html", context)


@require_safe
@for_study(Right.EXPORT)
def download(request: HttpRequest, study: Study) -> HttpResponseBase:
    wanted = ExportForm(study, request.GET)
    if wanted.errors:
        return redirect(f"{reverse('lab:export', args=[study.slug])}?{request.GET.urlencode()}")
    query, form = wanted.query, wanted.form
    if is_for_workers(study, query, form):
        job = jobs.ensure_exported(study, query, form)
        is_made = job.status == TrialExport.Status.FINISHED
        return redirect("lab:export_file" if is_made else "lab:export_job", study.slug, job.pk)
    with ExitStack() as stack:
        # Written whole before the first byte is sent: a failure is an error page and never half a file.
        new = stack.enter_context(tempfile.TemporaryFile())
        manifest = export_trials(study, query, new, form)
        record_export(study, manifest, by=request.user)
        stack.pop_all()  # from here on the response closes it
    return _file(new, manifest, form)


@require_POST
@for_study(Right.IDENTIFY)
def identities(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Recruitment ids and comments, for a reason that stands in the audit trail."""
    assert isinstance(request.user, User)
    with ExitStack() as stack:
        new = stack.enter_context(tempfile.TemporaryFile())
        try:
            export_identities(
                study, new, by=request.user, reason=request.POST.get("reason", "")[:MOST_REASON]
            )
        except ValidationError as error:
            messages.error(request, error.messages[0])
            return redirect("lab:export", study.slug)
        stack.pop_all()
    name = f"{study.slug}-identities-{timezone.now():%Y%m%dT%H%MZ}.csv"
    return FileResponse(new, as_attachment=True, filename=name, content_type=CONTENT_TYPES["csv"])


@require_safe
@for_study(Right.EXPORT)
def waiting(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return render(request, "lab/export/job.html", _context(study, pk))


@require_safe
@for_study(Right.EXPORT)
def live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The part of the waiting page that changes."""
    return render(request, "lab/export/_job.html", _context(study, pk))


@require_safe
@for_study(Right.EXPORT)
def file(request: HttpRequest, study: Study, pk: int) -> FileResponse:
    job = get_object_or_404(study.exports, pk=pk, status=TrialExport.Status.FINISHED)
    try:
        stored = jobs.open_file(job)
    except FileNotFoundError as gone:  # cleared away since the page was shown
        raise Http404 from gone
    manifest = Manifest.from_dict(job.manifest)
    record_export(study, manifest, by=request.user)
    return _file(stored, manifest, job.form)


@require_POST
@for_study(Right.EXPORT)
def retry(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    jobs.retry(get_object_or_404(study.exports, pk=pk))
    return redirect("lab:export_job", study.slug, pk)


def is_for_workers(study: Study, query: TrialQuery, form: Form) -> bool:
    """Whether a worker writes the file: always where all work is theirs, else what takes longer than a page may."""
    if settings.JOB_EXECUTOR == "celery" or form.format == DATA_SET:
        return True
    return jobs.takes_long(study, query)


def command(study: Study, query: TrialQuery, form: Form) -> str:
    """What writes the same file in a terminal."""
    parts = ["manage.py", "export_trials", study.slug, "--format", form.format]
    if form.format == DATA_SET:
        parts = ["manage.py", "export_dataset", study.slug]
    for name, texts in query.as_dict().items():
        parts += [f"--{name}", *([texts] if isinstance(texts, str) else texts)]
    parts += [f"--{name}" for name in ("bom", "zip") if getattr(form, name)]
    parts += ["--release", "--k", str(form.k)] if form.k else []
    parts += ["--words"] if form.words else []
    return shlex.join([*parts, "--output", f"trials{form.suffix}"])


def _context(study: Study, pk: int) -> dict[str, Any]:
    return {"study": study, "export": get_object_or_404(study.exports, pk=pk)}


def _file(content: IO[bytes], manifest: Manifest, form: Form) -> FileResponse:
    return FileResponse(
        content,
        as_attachment=True,
        filename=f"{manifest.stem}{form.suffix}",
        content_type=ZIP_TYPE if form.is_zip else CONTENT_TYPES[form.format],
    )
