"""The researcher's pages. Views find what the researcher may see; services do the work."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiment.domain.roles import Role
from experiment.lab.access import for_signed_in, user_of
from experiment.lab.pages import study_list
from experiment.models import Study
from experiment.services.rights import may_create_studies


@require_safe
@for_signed_in
def studies(request: HttpRequest) -> HttpResponse:
    visible = Study.objects.visible_to(request.user)
    context = {
        "studies": study_list(visible),
        "section": "studies",
        "may_create": may_create_studies(request.user),
        "curated": set(
            user_of(request).memberships.filter(role=Role.CURATOR).values_list("study", flat=True)
        ),
    }
    return render(request, "lab/studies.html", context)
