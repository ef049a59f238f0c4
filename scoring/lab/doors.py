"""The demo, from the first page of an empty site."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiment.lab.access import for_site_admins, user_of
from scoring.services.demo import open_demo


@require_POST
@for_site_admins
def demo(request: HttpRequest) -> HttpResponse:
    """Make it, and show how it fills."""
    try:
        study = open_demo(user_of(request))
    except ValidationError as refused:
        messages.error(request, " ".join(refused.messages))
        return redirect("lab:studies")
    said = "Simulated participants and a small language model are taking the demo study. This page updates meanwhile, and Results shows their results in a minute."
    messages.success(request, said)
    return redirect(f"{reverse('lab:study', args=[study.slug])}?kind=simulated")
