"""The researcher's pages. Views find what the researcher may see; services do the work."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from experiment.lab.access import for_researchers
from experiment.lab.pages import chosen_kind, live_context, study_list
from experiment.models import Study
from experiment.services import study_setup
from experiment.services.participant_texts import untranslated
from experiment.services.recruitment import SAMPLE_CODE, overdue
from experiment.services.recruitment import links as recruitment_links
from experiment.services.study_language import speaking


@require_safe
@for_researchers
def studies(request: HttpRequest) -> HttpResponse:
    visible = Study.objects.visible_to(request.user)
    return render(
        request, "lab/studies.html", {"studies": study_list(visible), "section": "studies"}
    )


@require_safe
@for_researchers
def study(request: HttpRequest, study: Study) -> HttpResponse:
    context = live_context(study, chosen_kind(request, study), timezone.now())
    context |= {
        "links": recruitment_links(study, settings.BASE_URL + study.get_absolute_url()),
        "n_untranslated": len(untranslated(study)),
        "n_overdue": overdue(timezone.now().date()).filter(study=study).count(),
        "problems": study_setup.readiness_problems(study),
        "recruitment_states": Study.Recruitment,
    }
    return render(request, "lab/study.html", context)


@require_safe
@for_researchers
def study_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The parts of the study's page that change by themselves."""
    context = live_context(study, chosen_kind(request, study), timezone.now())
    # The long table is sent only to those who have it open.
    return render(request, "lab/_live.html", context | {"with_items": "items" in request.GET})


@require_safe
@for_researchers
def link_preview(request: HttpRequest, study: Study, source: str, end: str) -> HttpResponse:
    """A page at the end as this source's participants see it, with ids made up."""
    known = {link.source or "plain": link for link in recruitment_links(study, "")}
    if source not in known or end not in ("completion", "screen-out"):
        raise Http404
    ends = known[source].ending
    context: dict[str, Any] = {"study": study, "is_preview": True, "ending": ends}
    with speaking(study):
        if end == "completion":
            return render(request, "participant/done.html", context | {"own_code": SAMPLE_CODE})
        return render(
            request, "participant/declined.html", context | {"return_url": ends.screen_out_url}
        )


@require_POST
@for_researchers
def recruitment(request: HttpRequest, study: Study) -> HttpResponse:
    state = request.POST.get("recruitment", "")
    if state not in Study.Recruitment.values:
        raise Http404
    try:
        study = study_setup.set_recruitment(study, state)
    except ValidationError:
        message = _("Recruitment stays %(state)s: what is missing is listed under Recruitment.")
        messages.error(request, message % {"state": study.recruitment})
    else:
        message = _("Recruitment is now %(state)s.")
        messages.success(request, message % {"state": Study.Recruitment(state).label})
    return redirect("lab:study", slug=study.slug)
