"""The first page: briefing and consent, and the way back in."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from experiment import enrollment
from experiment.models import Participant, Study
from experiment.participant import identity
from experiment.participant.guards import UNPROCESSABLE, go_on, resume, sends_problems
from experiment.participant.problems import problem


@sends_problems
def entry(request: HttpRequest, study: Study) -> HttpResponse:
    """Briefing and consent; a returner goes on where they were."""
    if request.method == "POST":
        return decide(request, study)
    seen = identity.read_entry(request, study)
    external, simulated = identity.read_parameters(request.GET)
    if seen is None or simulated or (external.id and external != seen.external):
        seen = identity.Entry(uuid.uuid4(), external, simulated)
        fresh = True
    else:
        fresh = False
    participant = identity.read_participant(request, study)
    if participant is not None and not simulated and external.id in ("", participant.external_id):
        return resume(request, study, participant)
    if request.GET:
        response: HttpResponse = redirect(study)
    else:
        _may_enter(request, study, seen)
        response = render(
            request, "participant/consent.html", {"study": study, "consent": study.consent}
        )
    if fresh:
        identity.write_entry(response, study, seen)
        identity.forget(response, study, "participant")
    return response


def _may_enter(request: HttpRequest, study: Study, seen: identity.Entry) -> str:
    """The kind of participant this visitor would be; NotOpenError where nobody may enter."""
    if seen.simulated:
        return Participant.Kind.SIMULATED
    user = request.user
    is_member = (
        user.is_authenticated and Study.objects.visible_to(user).filter(pk=study.pk).exists()
    )
    return enrollment.entry_kind(study, is_member=is_member)


def decide(request: HttpRequest, study: Study) -> HttpResponse:
    """The consent form was sent."""
    agree = request.POST.get("agree", "")
    if agree == "no":
        # Nothing was stored, and the visitor's own browser forgets the visit too.
        context = {"study": study, "return_url": study.screen_out_url}
        response = render(request, "participant/declined.html", context)
        identity.forget(response, study, "entry")
        return response
    if agree != "yes":
        context = {
            "study": study,
            "consent": study.consent,
            "errors": {"agree": "Please choose one of the two answers."},
        }
        return render(request, "participant/consent.html", context, status=UNPROCESSABLE)
    seen = identity.read_entry(request, study)
    if seen is None:
        message = "Your browser did not send back this study's cookie. Please allow cookies, and open the link again."
        return problem(
            request,
            400,
            "Cookies are needed",
            message,
            study=study,
            action_url=study.get_absolute_url(),
        )
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
