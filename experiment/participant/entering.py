"""The first page: briefing and consent, and the way back in."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from experiment import enrollment
from experiment.models import Participant, Study
from experiment.participant import identity, pages
from experiment.participant.guards import UNPROCESSABLE, go_on, resume, sends_problems
from experiment.participant.problems import problem


@sends_problems
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
        context = {"study": study, "consent": study.consent}
        response = render(request, "participant/consent.html", context)
    if is_new:
        identity.write_entry(response, study, seen)
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
    seen = identity.read_entry(request, study)
    agree = request.POST.get("agree", "")
    if agree == "no":
        return decline(request, study, seen)
    if agree != "yes":
        errors = {"agree": "Please choose one of the two answers."}
        context = {"study": study, "consent": study.consent, "errors": errors}
        return render(request, "participant/consent.html", context, status=UNPROCESSABLE)
    if seen is None:
        message = "Your browser did not send back this study's cookie. Please allow cookies, and open the link again."
        url = study.get_absolute_url()
        return problem(request, 400, "Cookies are needed", message, study=study, action_url=url)
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
        message = (
            "You have agreed to take part already, perhaps in another tab. You may stop by closing the pages; "
            "answers that you gave can be withdrawn."
        )
        url = pages.url_of(participant)
        return problem(
            request,
            409,
            "You are taking part",
            message,
            study=study,
            action_url=url,
            action_label="Go on",
        )
    external_id = seen.external.id if seen else ""
    return_url = pages.fill_in(study.screen_out_url, external_id)
    return render(request, "participant/declined.html", {"study": study, "return_url": return_url})
