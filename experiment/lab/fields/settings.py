"""A new field, and what its leads decide: name, subfields, how many reviews."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_creators, for_field, user_of
from experiment.lab.fields.forms import FieldForm, SubfieldForm
from experiment.models import ResearchField
from experiment.services.fields import settings as services
from experiment.services.fields.settings import is_used
from lib.http import UNPROCESSABLE, either


@either
@for_creators
def new(request: HttpRequest) -> HttpResponse:
    form = FieldForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data
        try:
            made = services.create_field(sent["name"], sent["reviews_needed"], user_of(request))
            return redirect("lab:field_settings", made.slug)
        except ValidationError as error:
            form.add_error(None, error)
    context = {"form": form, "section": "fields"}
    return render(request, "lab/fields/new.html", context, status=_status(request))


@either
@for_field(FieldRight.LEAD_FIELD)
def settings(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    stored = ResearchField.objects.get(pk=research_field.pk)  # the form changes its own
    form = FieldForm(request.POST or None, instance=stored)
    if request.method == "POST" and form.is_valid():
        sent, by = form.cleaned_data, user_of(request)
        try:
            accepted = services.change_field(
                research_field, sent["name"], sent["reviews_needed"], by
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Saved."))
            if n := len(accepted):
                said = ngettext(
                    "%(n)d test case has the reviews that are needed now, and is accepted.",
                    "%(n)d test cases have the reviews that are needed now, and are accepted.",
                    n,
                )
                messages.success(request, said % {"n": n})
            return redirect("lab:field_settings", research_field.slug)
    return _settings(request, research_field, form, SubfieldForm(prefix="new"))


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def add_subfield(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = SubfieldForm(request.POST, prefix="new")
    if form.is_valid():
        sent = form.cleaned_data
        try:
            services.add_subfield(research_field, sent["name"], sent["purpose"], user_of(request))
            return redirect("lab:field_settings", research_field.slug)
        except ValidationError as error:
            form.add_error(None, error)
    return _settings(request, research_field, FieldForm(instance=research_field), form)


@either
@for_field(FieldRight.LEAD_FIELD)
def subfield(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """Change one, or remove it."""
    row = get_object_or_404(research_field.subfields, pk=pk)
    form = SubfieldForm(
        request.POST or None, instance=get_object_or_404(research_field.subfields, pk=pk)
    )
    if request.method == "POST" and form.is_valid():
        sent, by = form.cleaned_data, user_of(request)
        try:
            services.change_subfield(row, sent["name"], sent["purpose"], by)
            return redirect("lab:field_settings", research_field.slug)
        except ValidationError as error:
            form.add_error(None, error)
    context = {
        "research_field": research_field,
        "subfield": row,
        "is_used": is_used(row),
        "form": form,
        "section": "fields",
    }
    return render(request, "lab/fields/subfield.html", context, status=_status(request))


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def remove_subfield(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    try:
        services.remove_subfield(
            get_object_or_404(research_field.subfields, pk=pk), user_of(request)
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("lab:field_settings", research_field.slug)


def _settings(
    request: HttpRequest, research_field: ResearchField, form: FieldForm, new: SubfieldForm
) -> HttpResponse:
    context = {
        "research_field": research_field,
        "subfields": research_field.subfields.all(),
        "form": form,
        "subfield_form": new,
        "section": "fields",
    }
    return render(request, "lab/fields/settings.html", context, status=_status(request))


def _status(request: HttpRequest) -> int:
    """A form that was sent is shown again for its errors only."""
    return UNPROCESSABLE if request.method == "POST" else 200
