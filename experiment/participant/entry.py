"""The first page: briefing and consent, and the way back in."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from experiment.models import Participant, Study
from experiment.participant import identity, pages
from experiment.participant.forms import DemographicsForm
from experiment.participant.guards import resume, shows_problems
from experiment.participant.problems import UNPROCESSABLE, problem
from experiment.participant.showing import go_on
from experiment.services import enrollment, returns
from experiment.services.duration import study_duration
from experiment.services.flow import KnownIdError
from experiment.services.recruitment import ending


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
    elif (returner := returns.find_by_link(study, seen.external)) is not None:
        response = resume(request, study, returner)
        identity.write_participant(response, study, returner)
    else:
        if enrollment.is_known(study, _may_enter(request, study, seen), seen.external):
            raise KnownIdError
        response = render_consent(request, study, seen)
    if is_new:
        identity.write_entry(response, study, seen)
    return response


def render_consent(
    request: HttpRequest, study: Study, seen: identity.Entry | None, *, is_undecided: bool = False
) -> HttpResponse:
    context: dict[str, Any] = {
        "study": study,
        "consent": study.consent,
        "seen": seen,
        "duration": study_duration(study),
        "ids_until": enrollment.ids_until(study, timezone.now()),
        "site": Study.Platform(seen.external.source).label if seen else "",
        "return_days": 0 if study.resume_hours % 24 else study.resume_hours // 24,
        "questions": DemographicsForm(fields=study.demographic_fields, field=study.field),
    }
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
        return render_consent(request, study, seen, is_undecided=True)
    if seen is None:
        url = study.get_absolute_url()
        return problem(request, "no_cookie", study=study, action_url=url, asks_code=True)
    participant = enrollment.enroll(
        study,
        kind=lambda: _may_enter(request, study, seen),
        consent_sha256=request.POST.get("consent_sha256", ""),
        key=seen.key,
        external=seen.external,
        code=seen.code,
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
    external = seen.external if seen else enrollment.NO_EXTERNAL_IDS
    return_url = ending(study, external).screen_out_url
    return render(request, "participant/declined.html", {"study": study, "return_url": return_url})
