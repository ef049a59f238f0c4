"""A curator says why a warning is right as it is."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.models import Item, ResearchField
from experiment.services.curation import checks


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def explain_finding(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    item = get_object_or_404(Item, pk=pk, field=research_field.name)
    sent = request.POST
    try:
        checks.explain(item, sent.get("finding", ""), sent.get("text", ""), user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("Explained."))
    return redirect(f"{reverse('lab:item', args=[research_field.slug, pk])}#checks")
