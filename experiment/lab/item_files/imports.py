"""A file of test cases into a field: sent, compared with what is there, and imported as it was shown."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight
from experiment.imports.read.items import read_items
from experiment.imports.store.bulk.apply import PlanRefusedError, import_items
from experiment.imports.store.bulk.difference import Action, ImportPlan
from experiment.imports.store.bulk.job import ask
from experiment.imports.store.bulk.plan import plan_import
from experiment.lab.access import for_field, user_of
from experiment.lab.item_files.difference import difference as shown_difference
from experiment.lab.item_files.forms import OptionsForm, UploadForm
from experiment.models import ItemImport, ResearchField
from experiment.services import kept_uploads
from experiment.services.item_export.template import template as template_of
from lib.jobs import presence

UNPROCESSABLE, CONFLICT, GONE = 422, 409, 410
LARGE = 1_000  # rows; of more, a worker makes the import, where one lives


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def page(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _page(request, research_field, UploadForm(is_lead=_is_lead(request)))


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def send(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Keep the file, and show what it would do."""
    form = UploadForm(request.POST, request.FILES, is_lead=_is_lead(request))
    if not form.is_valid():
        return _page(request, research_field, form, status=UNPROCESSABLE)
    sent = form.cleaned_data
    name = kept_uploads.keep(research_field, user_of(request), sent["file"].read())
    query = QueryDict(mutable=True)
    query.update({key: value for key, value in sent.items() if key != "file" and value})
    address = reverse("lab:import_difference", args=[research_field.slug, name])
    return redirect(f"{address}?{query.urlencode()}" if query else address)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def template(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    headers = {"Content-Disposition": content_disposition_header(True, "test-cases.csv")}
    subfield = research_field.subfields.values_list("name", flat=True).first()
    content = template_of(subfield or "")
    return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def difference(request: HttpRequest, research_field: ResearchField, upload: str) -> HttpResponse:
    form = OptionsForm(request.GET, is_lead=_is_lead(request))
    try:
        data = kept_uploads.read(research_field, user_of(request), upload)
    except FileNotFoundError:
        return _gone(request, research_field)
    if not form.is_valid():
        return redirect("lab:import_items", research_field.slug)
    plan = plan_import(data, research_field, form.options)
    return _difference(request, upload, plan, form)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def apply(request: HttpRequest, research_field: ResearchField, upload: str) -> HttpResponse:
    """Do what was shown: at once, or where it is much and a worker lives, by that."""
    user, form = user_of(request), OptionsForm(request.POST, is_lead=_is_lead(request))
    shown = request.POST.get("shown", "")
    try:
        data = kept_uploads.read(research_field, user, upload)
    except FileNotFoundError:
        return _gone(request, research_field)
    if not form.is_valid():
        return redirect("lab:import_items", research_field.slug)
    if _is_for_workers(data):
        started = ask(research_field, upload, form.options, shown, user)
        return redirect("lab:import_job", research_field.slug, started.pk)
    try:
        plan = import_items(data, research_field, form.options, by=user, shown=shown)
    except PlanRefusedError as refused:
        return _difference(request, upload, refused.plan, form, has_changed=True)
    kept_uploads.forget(research_field, user, upload)
    messages.success(request, _said(plan.count(Action.CREATE), plan.count(Action.UPDATE)))
    return redirect("lab:field", research_field.slug)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def job(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    return render(request, "lab/item_files/job.html", _job(research_field, pk))


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def job_live(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """The part of the page that changes."""
    return render(request, "lab/item_files/_job.html", _job(research_field, pk))


def _is_lead(request: HttpRequest) -> bool:
    return FieldRight.LEAD_FIELD in request.field_rights  # type: ignore[attr-defined]


def _is_for_workers(data: bytes) -> bool:
    """Whether a worker imports this file: always where all work is theirs, else what is large while one lives."""
    if settings.JOB_EXECUTOR == "celery":
        return True
    return presence.is_taken(ItemImport) and len(read_items(data).records) > LARGE


def _said(created: int, updated: int) -> str:
    new = ngettext("%(n)d test case is new", "%(n)d test cases are new", created) % {"n": created}
    changed = ngettext("%(n)d is changed", "%(n)d are changed", updated) % {"n": updated}
    return f"{new}, {changed}."


def _page(
    request: HttpRequest, research_field: ResearchField, form: UploadForm, status: int = 200
) -> HttpResponse:
    context = {"research_field": research_field, "form": form, "section": "fields"}
    return render(request, "lab/item_files/import.html", context, status=status)


def _gone(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    context = {"research_field": research_field, "section": "fields"}
    return render(request, "lab/item_files/gone.html", context, status=GONE)


def _difference(
    request: HttpRequest,
    upload: str,
    plan: ImportPlan,
    form: OptionsForm,
    *,
    has_changed: bool = False,
) -> HttpResponse:
    query = QueryDict(mutable=True)
    query.update({key: value for key, value in form.cleaned_data.items() if value})
    context: dict[str, Any] = {
        "research_field": plan.research_field,
        "difference": shown_difference(plan, request.GET.get("show", ""), request.GET.get("page")),
        "upload": upload,
        "sent": form.cleaned_data,
        "query": query.urlencode(),
        "has_changed": has_changed,
        "section": "fields",
    }
    status = CONFLICT if has_changed else 200
    return render(request, "lab/item_files/difference.html", context, status=status)


def _job(research_field: ResearchField, pk: int) -> dict[str, Any]:
    found = get_object_or_404(research_field.imports, pk=pk)
    return {
        "research_field": research_field,
        "job": found,
        "said": _said(found.n_created, found.n_updated),
        "section": "fields",
    }
