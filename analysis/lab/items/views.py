"""A field's test cases as a list, and the filters of it that a person keeps under a name."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from analysis.lab.items.forms import ListForm, ViewForm
from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.models import ResearchField, SavedView


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def field(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    # Here, since pages without figures do without what computes them
    from analysis.services.items.listing import listed

    user = user_of(request)
    form = ListForm(request.GET, user=user, research_field=research_field)
    is_valid = form.is_valid()
    context = {
        "research_field": research_field,
        "section": "fields",
        "form": form,
        "view_form": ViewForm(),
        "views": own_views(request, research_field),
    }
    if is_valid:
        number = request.GET.get("page")
        context["listed"] = listed(user, research_field, form.wanted, number)
    return render(request, "lab/fields/field.html", context, status=200 if is_valid else 400)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def save_view(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Keep the filters of `query` under a name; one that is taken is given these filters."""
    user = user_of(request)
    filters = ListForm(
        QueryDict(request.POST.get("query", "")), user=user, research_field=research_field
    )
    form = ViewForm(request.POST)
    place = reverse("lab:field", args=[research_field.slug])
    if not (filters.is_valid() and form.is_valid()):
        messages.error(
            request, _("The view was not kept: it needs a name and filters of the list.")
        )
        return redirect(place)
    name = form.cleaned_data["name"]
    own_views(request, research_field).update_or_create(
        field=research_field, user=user, name=name, defaults={"query": filters.query}
    )
    messages.success(request, _("Kept as “%(name)s”.") % {"name": name})
    return redirect(f"{place}?{filters.query}")


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def delete_view(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """The person's own of the posted name; by name, since nobody has two of one."""
    name = request.POST.get("name", "")
    if own_views(request, research_field).filter(name=name).delete()[0]:
        messages.success(request, _("“%(name)s” is no longer kept.") % {"name": name})
    return redirect("lab:field", research_field.slug)


def own_views(request: HttpRequest, research_field: ResearchField) -> QuerySet[SavedView]:
    return SavedView.objects.filter(field=research_field, user=user_of(request))
