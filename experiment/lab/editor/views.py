"""A test case is written: a new one, or a draft."""

import copy
import uuid

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.lab.editor.comparison import Comparison, comparison
from experiment.lab.editor.forms import ItemForm, form_of
from experiment.lab.editor.preview import preview_of
from experiment.models import Item, ItemScratch, ResearchField
from experiment.services.curation import lifecycle, writing
from experiment.services.curation.drafts import EditedSinceError
from lib.http import either

CONFLICT, UNPROCESSABLE = 409, 422


@either
@for_field(FieldRight.CURATE_FIELD)
def new_item(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """`begun` names what was typed on this page before, and is no test case yet."""
    scratch = _begun(request, research_field)
    if request.method != "POST":
        return _page(request, scratch) if scratch.item is None else redirect(_url(scratch))
    if "discard" in request.POST:
        writing.discard(scratch)
        return redirect("lab:new_item", research_field.slug)
    return _save(request, scratch)


@either
@for_field(FieldRight.CURATE_FIELD)
def write_item(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    item = get_object_or_404(Item, pk=pk, field=research_field.name)
    if item.is_question:
        return redirect("lab:write_question", research_field.slug, pk)
    scratch = writing.scratch_of(item, research_field, user_of(request))
    if request.method == "POST" and "discard" in request.POST:
        writing.discard(scratch)
        return redirect(_url(scratch))
    if request.method == "POST":
        return _save(request, scratch)
    if item.status != Item.Status.DRAFT:
        messages.error(
            request,
            _("An accepted text stays as it is: start a new version of it.")
            if item.is_frozen
            else _("Only a draft can be written: take it back to draft first."),
        )
        return redirect("lab:item", research_field.slug, pk)
    return _page(request, scratch)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def preview(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Of what is typed: of a `draft`, or of what a page has begun, which may be a draft since."""
    named = request.POST.get("draft", "")
    drafts = Item.objects.filter(field=research_field.name, pk=named if named.isdecimal() else 0)
    item = drafts.first() or _begun(request, research_field).item
    start = item or Item(field=research_field.name)
    form = ItemForm(request.POST, instance=start, research_field=research_field)
    return render(request, "lab/editor/_preview.html", {"preview": preview_of(form.as_typed)})


def _begun(request: HttpRequest, research_field: ResearchField) -> ItemScratch:
    named = (request.POST or request.GET).get("begun")
    try:
        uid = uuid.UUID(named) if named else uuid.uuid4()
        return writing.scratch_named(uid, research_field, user_of(request))
    except (ValueError, ItemScratch.DoesNotExist) as error:
        raise Http404 from error


def _save(request: HttpRequest, scratch: ItemScratch) -> HttpResponse:
    """Whatever was typed is kept: as the draft, or as it is where it is none yet."""
    item = copy.copy(scratch.item) or Item(field=scratch.field.name)
    form = ItemForm(request.POST, instance=item, research_field=scratch.field)
    try:
        scratch = _kept(request, scratch, form)
    except EditedSinceError:
        return _conflict(request, scratch, form)
    if _is_autosave(request):
        return JsonResponse(_state(scratch) | {"is_finished": not form.errors, "why": form.why})
    if form.errors:
        return _page(request, scratch, form, status=UNPROCESSABLE)
    if "to_review" in request.POST and scratch.item is not None:
        return _to_review(request, scratch.item, scratch.field)
    messages.success(request, _("Saved."))
    return redirect(_url(scratch))


def _kept(request: HttpRequest, scratch: ItemScratch, form: ItemForm) -> ItemScratch:
    seen, window = request.POST.get("seen", ""), request.POST.get("window", "")[:36]
    if form.is_valid():
        try:
            item = writing.finish(scratch, seen=seen, window=window, **form.columns)
            return writing.scratch_of(item, scratch.field, scratch.user)
        except ValidationError as error:
            form.add_error(None, error.messages)
    return writing.keep(scratch, form.typed, seen=seen, window=window)


def _to_review(request: HttpRequest, item: Item, research_field: ResearchField) -> HttpResponse:
    try:
        lifecycle.submit(item, user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("lab:item", research_field.slug, item.pk)


def _conflict(request: HttpRequest, scratch: ItemScratch, form: ItemForm) -> HttpResponse:
    """What is stored beside what was typed, of which nothing is stored."""
    if scratch.item is None:
        scratch = writing.scratch_named(scratch.uid, scratch.field, scratch.user)
    else:
        item = Item.objects.get(pk=scratch.item.pk)
        scratch = writing.scratch_of(item, scratch.field, scratch.user)
    theirs = comparison(form_of(scratch), form)
    if not _is_autosave(request):
        return _page(request, scratch, form, status=CONFLICT, theirs=theirs)
    context = {"theirs": theirs, "url": _url(scratch)}
    html = render_to_string("lab/editor/_conflict.html", context, request)
    return JsonResponse(_state(scratch) | {"html": html}, status=CONFLICT)


def _state(scratch: ItemScratch) -> dict[str, str | bool]:
    return {"url": _url(scratch), "seen": writing.state_of(scratch)}


def _page(
    request: HttpRequest,
    scratch: ItemScratch,
    form: ItemForm | None = None,
    status: int = 200,
    theirs: Comparison | None = None,
) -> HttpResponse:
    shown = form or form_of(scratch)
    if form is None and writing.is_overtaken(scratch):
        theirs = comparison(form_of(scratch, as_stored=True), shown)
    context = {
        "research_field": scratch.field,
        "scratch": scratch,
        "url": _url(scratch),
        "seen": writing.state_of(scratch),
        "form": shown,
        "theirs": theirs,
        "preview": preview_of(shown.as_typed),
        "begun": writing.begun(scratch.field, scratch.user).exclude(pk=scratch.pk),
        "section": "fields",
    }
    return render(request, "lab/editor/page.html", context, status=status)


def _url(scratch: ItemScratch) -> str:
    """Where the writer goes on."""
    if scratch.item is not None:
        return reverse("lab:write_item", args=[scratch.field.slug, scratch.item.pk])
    address = reverse("lab:new_item", args=[scratch.field.slug])
    return f"{address}?begun={scratch.uid}"


def _is_autosave(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"
