"""The first page: briefing and consent, and the way back in."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from experiment.models import Participant, Study
from experiment.participant import identity, pages
from experiment.participant.guards import go_on, resume, shows_problems
from experiment.participant.problems import UNPROCESSABLE, problem
from experiment.services import enrollment


@shows_problems
def entry(request: HttpRequest, study: Study) -> HttpResponse:
    """Briefing and consent; a returner goes on where they were."""
    if request.method == "POST":
        return decide(request, study)
    external, simulated = identity.read_parameters(request.GET)
    seen = identity.read_entry(request, study)
    is_new = seen is None or simulated or (external.id and external.who != seen.external.who)
    if seen is None or is_new:
        seen = identity.Entry(uuid.uuid4(), external, simulated)
    participant = identity.read_participant(request, study)
    response: HttpResponse
    if request.GET:
        response = redirect(study)
    elif participant is not None and seen.may_be(participant):
        response = resume(request, study, participant)
    else:
        _may_enter(request, study, seen)
        response = render_consent(request, study)
    if is_new:
        identity.write_entry(response, study, seen)
    return response


def render_consent(
    request: HttpRequest, study: Study, *, is_undecided: bool = False
) -> HttpResponse:
    context: dict[str, Any] = {"study": study, "consent": study.consent}
    if not is_undecided:
        return render(request, "participant/consent.html", context)
    context["errors"] = {"agree": _("Please choose one of the two answers.")}
    return render(request, "participant/consent.html", context, status=UNPROCESSABLE)


def _may_enter(request: HttpRequest, study: Study, seen: identity.Entry) -> str:
    """The kind of participant this visitor would be; NotOpenError where the study takes no new participants."""
    if seen.simulated:
        return Participant.Kind.SIMULATED
    is_member = Study.objects.visible_to(request.user).filter(pk=study.pk).exists()
    return enrollment.entry_kind(study, is_member=is_member)


def decide(request: HttpRequest, study: Study) -> HttpResponse:
    """The consent form was sent."""
    seen = identity.read_entry(request, study)
    agree = request.POST.get("agree", "")
    if agree == "no":
        return decline(request, study, seen)
    if agree != "yes":
        return render_consent(request, study, is_undecided=True)
    if seen is None:
        return problem(request, "no_cookie", study=study, action_url=study.get_absolute_url())
    participant = enrollment.enroll(
        study,
        kind=lambda: _may_enter(request, study, seen),
        consent_sha256=request.POST.get("consent_sha256", ""),
        key=seen.key,
        external=seen.external,
        now=timezone.now(),
    )
    response = go_on(request, participant)
    identity.write_participant(response, study, participant)
    return response


def decline(request: HttpRequest, study: Study, seen: identity.Entry | None) -> HttpResponse:
    """Nothing was stored, and nothing is; unless this visitor agreed in another tab meanwhile."""
    participant = identity.read_participant(request, study)
    if participant is not None and (seen is None or seen.may_be(participant)):
        url = pages.url_of(participant)
        return problem(request, "already_taking_part", study=study, action_url=url)
    external_id = seen.external.id if seen else ""
    return_url = pages.fill_in(study.screen_out_url, external_id)
    return render(request, "participant/declined.html", {"study": study, "return_url": return_url})
