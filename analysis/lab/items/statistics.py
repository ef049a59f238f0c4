"""The page with what is known of one version, and its picture."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from analysis.lab.files import TYPES, file_response
from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.models import Item, ResearchField


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def item_statistics(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    # Here and below, since pages without figures do without what computes them
    from analysis.presentation import figure_text
    from analysis.services.items.statistics import fitted, statistics

    item = get_object_or_404(Item, field=research_field.name, pk=pk)
    user = user_of(request)
    found = statistics(item, research_field, user)
    context = {
        "section": "fields",
        "part": "items",
        "research_field": research_field,
        "item": item,
        "found": found,
        "fitted": fitted(item, user) if request.GET.get("fit") == "2pl" else None,
        "text": figure_text("item_place", {"item": item.key}) if found.place else None,
    }
    return render(request, "lab/items/statistics.html", context)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def item_statistics_picture(
    request: HttpRequest, research_field: ResearchField, pk: int
) -> HttpResponse:
    from analysis.services.items.statistics import place_of

    item = get_object_or_404(Item, field=research_field.name, pk=pk)
    place = place_of(item, research_field, user_of(request))
    if place is None:
        raise Http404

    def picture() -> bytes:
        from analysis.charts.save import specification, svg
        from analysis.services.items.figure import item_place

        return svg(specification(item_place(place))).encode()

    return file_response(picture, TYPES["svg"], f"{research_field.slug}-{item.pk}.svg")
