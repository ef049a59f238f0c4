"""Who belongs to a field, as what."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight, FieldRole
from experiment.lab.access import for_field, user_of
from experiment.lab.fields.forms import MemberForm
from experiment.models import FieldMember, ResearchField
from experiment.services.fields import members
from lib.http import UNPROCESSABLE


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def people(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _people(request, research_field, MemberForm())


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def add(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = MemberForm(request.POST)
    if form.is_valid():
        sent = form.cleaned_data
        try:
            members.add(research_field, sent["username"], FieldRole(sent["role"]), user_of(request))
            return redirect("lab:field_people", research_field.slug)
        except ValidationError as error:
            form.add_error("username", error)
    return _people(request, research_field, form)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def change_role(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    member, role = _member(research_field, pk), request.POST.get("role", "")
    if role not in list(FieldRole):
        raise Http404
    try:
        members.change_role(member, FieldRole(role), user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("lab:field_people", research_field.slug)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def remove(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    member, user = _member(research_field, pk), user_of(request)
    try:
        members.remove(member, user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if member.user_id == user.pk and not user.is_superuser:
            return redirect("lab:fields")  # they have left
    return redirect("lab:field_people", research_field.slug)


def _member(research_field: ResearchField, pk: int) -> FieldMember:
    rows = research_field.memberships.select_related("user", "field")
    return get_object_or_404(rows, pk=pk)


def _people(request: HttpRequest, research_field: ResearchField, form: MemberForm) -> HttpResponse:
    rows = research_field.memberships.select_related("user").order_by("user__username")
    context = {
        "research_field": research_field,
        "members": rows,
        "roles": FieldMember.Role,
        "form": form,
        "section": "fields",
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "lab/fields/people.html", context, status=status)
