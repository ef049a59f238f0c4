"""Curators read a study's test cases, write new versions of them and have these accepted.

The study goes on drawing from the versions that it has, until a researcher chooses others under Set up.
"""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.item_checks import check_item
from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from experiment.models.items import ItemQuerySet
from experiment.services import audit
from experiment.services.curation import lifecycle
from lib.newlines import with_unix_newlines

PER_PAGE = 50
# Retiring takes a test case from other studies too: for site administrators
MOVES = (Item.Status.DRAFT, Item.Status.IN_REVIEW, Item.Status.ACCEPTED)


class TextForm(forms.ModelForm[Item]):
    class Meta:
        model = Item
        fields = ("markup", "note")
        widgets = {
            "markup": forms.Textarea(attrs={"rows": 12, "spellcheck": "true"}),
            "note": forms.Textarea(attrs={"rows": 3}),
        }

    def clean_markup(self) -> str:
        return with_unix_newlines(self.cleaned_data["markup"])


@require_safe
@for_study(Right.SEE_ITEMS)
def test_cases(request: HttpRequest, study: Study) -> HttpResponse:
    rows = _versions(request, study).order_by("key", "-version").defer("original", "altered")
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    pinned = set(study.study_items.values_list("item_id", flat=True))
    context = {"study": study, "page": page, "pinned": pinned}
    return render(request, "lab/curation/test_cases.html", context)


@require_safe
@for_study(Right.SEE_ITEMS)
def test_case(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return _page(request, study, _version(request, study, pk))


@require_POST
@for_study(Right.CURATE)
@transaction.atomic
def edit(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    item = _version(request, study, pk)
    if item.is_frozen:
        messages.error(request, _("An accepted text stays as it is: start a new version."))
        return redirect("lab:test_case", study.slug, pk)
    form = TextForm(request.POST, instance=item)
    if not form.is_valid():
        return _page(request, study, _version(request, study, pk), form)
    form.save()
    _record(request, study, item, change="text")
    messages.success(request, _("Saved."))
    return redirect("lab:test_case", study.slug, pk)


@require_POST
@for_study(Right.CURATE)
@transaction.atomic
def revise(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    draft = lifecycle.revise(_version(request, study, pk), user=user_of(request))
    _record(request, study, draft, change="new version")
    return redirect("lab:test_case", study.slug, draft.pk)


@require_POST
@for_study(Right.CURATE)
@transaction.atomic
def move(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    item, status = _version(request, study, pk), request.POST.get("status", "")
    if status not in MOVES:
        raise Http404
    try:
        moved = lifecycle.set_status(item, status)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if moved.status != item.status:
            _record(request, study, item, before=item.status, after=status)
    return redirect("lab:test_case", study.slug, pk)


def _versions(request: HttpRequest, study: Study) -> ItemQuerySet:
    """Of what the study draws from: what is accepted, and what its own members are writing."""
    writers = Q(created_by__in=study.members.values("pk")) | Q(created_by=user_of(request))
    shown = Q(pk__in=study.items.values("pk")) | Q(status__in=Item.FROZEN_STATUSES) | writers
    return Item.objects.filter(shown, key__in=study.items.values("key"))


def _version(request: HttpRequest, study: Study, pk: int) -> Item:
    return get_object_or_404(_versions(request, study), pk=pk)


def _record(request: HttpRequest, study: Study, item: Item, **details: str) -> None:
    by = user_of(request)
    audit.record(audit.Action.ITEMS_CHANGED, by=by, study=study, item=str(item), **details)


def _page(
    request: HttpRequest, study: Study, item: Item, form: TextForm | None = None
) -> HttpResponse:
    context: dict[str, Any] = {
        "study": study,
        "item": item,
        "segments": item.abstract.segments,
        "warnings": check_item(item.abstract),
        "is_pinned": study.study_items.filter(item=item).exists(),
        "form": form or (None if item.is_frozen else TextForm(instance=item)),
        "moves": [
            Item.Status(status)
            for status in lifecycle.NEXT_STATUSES[item.status]
            if Item.Status(status) in MOVES
        ],
    }
    return render(request, "lab/curation/test_case.html", context)
