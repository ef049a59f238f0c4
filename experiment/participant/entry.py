"""The first page: briefing and consent, and the way back in."""

from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from experiment.domain.recruitment_ids import is_of_site
from experiment.models import ConsentVersion, Participant, Study
from experiment.participant import identity
from experiment.participant.forms import DemographicsForm
from experiment.participant.guards import resume, shows_problems
from experiment.participant.pay import pay_told
from experiment.participant.problems import BadLinkError, problem
from experiment.participant.rendering import is_preview, url_of
from experiment.participant.showing import go_on
from experiment.services import consenting
from experiment.services.advisers import freeze_to_try, is_advised
from experiment.services.channels import (
    NO_EXTERNAL_IDS,
    SAMPLE_ID,
    ExternalIds,
    channel_of,
    count_damaged_link,
    ending,
    sent_by,
)
from experiment.services.counts import study_length
from experiment.services.flow import KnownIdError, NotOpenError
from experiment.services.readiness import StudyProblem, completion_problems
from experiment.services.sign_in import keep_or_end
from experiment.services.survey import survey_questions
from lib.http import UNPROCESSABLE, address_of
from lib.unguessable import unguessable_id


@shows_problems
def entry(request: HttpRequest, study: Study) -> HttpResponse:
    """Briefing and consent; a returner goes on where they were."""
    if request.method == "POST":
        return decide(request, study)
    try:
        external, simulated = _read_link(request, study)
    except identity.PreviewLinkError as preview:
        return show_from_site(request, study, preview.source)
    seen = identity.read_entry(request, study)
    is_new = seen is None or simulated or _is_another(external, seen.external)
    if seen is None or is_new:
        seen = identity.Entry(unguessable_id(), external, simulated)
    participant = identity.read_participant(request, study)
    response: HttpResponse
    if request.GET:
        response = redirect(study)
        newcomer = identity.Entry(unguessable_id(), external)
        if external.id and _begins_again(request, study, newcomer, participant):
            identity.forget_participant(response, study)
            is_new, seen = True, newcomer
    elif participant is not None and seen.may_be(participant):
        response = resume(request, study, participant)
    elif (returner := consenting.find_by_link(study, seen.external)) is not None:
        # A link may come from anybody: nobody becomes the participant behind it without saying that they are
        of_visit = _of_visit(request, study, seen)
        shown = {"study": study, "consent": returner.consent_version, **of_visit}
        response = render(request, "participant/returning.html", shown)
    else:
        if consenting.is_known(study, _may_enter(request, study, seen), seen.external):
            raise KnownIdError
        response = render_consent(request, study, seen)
    if is_new:
        identity.write_entry(request, response, study, seen)
    return response


def _read_link(request: HttpRequest, study: Study) -> tuple[ExternalIds, bool]:
    """As `identity.read_parameters`; what the recruitment site cannot have sent is counted for the study team."""
    try:
        external, simulated = identity.read_parameters(study, request.GET)
    except BadLinkError:
        count_damaged_link(study, timezone.now())
        raise
    if identity.is_damaged(study, request.GET, external):
        count_damaged_link(study, timezone.now())
    return external, simulated


def show_from_site(request: HttpRequest, study: Study, source: str) -> HttpResponse:
    """The first page as who accepts the task will see it, and nothing to send."""
    seen = identity.Entry(unguessable_id(), ExternalIds(source, SAMPLE_ID))
    _may_enter(request, study, seen)
    return render_consent(request, study, seen, is_from_site=True)


def _is_another(named: ExternalIds, seen: ExternalIds) -> bool:
    """True if a link names somebody else, or another channel, than the visit so far."""
    is_other_person = bool(named.id) and named.who != seen.who
    return is_other_person or (bool(named.channel) and named.channel != seen.channel)


def _begins_again(
    request: HttpRequest, study: Study, seen: identity.Entry, participant: Participant | None
) -> bool:
    """True if a visitor who opens a channel's link after the end may take part once more; else they keep their completion."""
    channel = channel_of(study, seen.external.channel)
    may = channel is not None and channel.returns == channel.Returns.AGAIN
    if not may or participant is None or not participant.has_ended:
        return False
    try:
        _may_enter(request, study, seen)
    except NotOpenError:
        return False
    return True


def render_consent(
    request: HttpRequest,
    study: Study,
    seen: identity.Entry | None,
    *,
    is_undecided: bool = False,
    is_from_site: bool = False,
    consent: ConsentVersion | None = None,
) -> HttpResponse:
    """`consent` is a text that is only looked at yet; otherwise the study's. is_from_site: by who has not accepted the task there."""
    asked = survey_questions(study)
    external = seen.external if seen else NO_EXTERNAL_IDS
    # Who comes without an ID cannot be paid by one
    is_paid = external.id or is_from_site or is_preview(request)
    context: dict[str, Any] = {
        "study": study,
        "consent": consent or study.consent,
        "is_preview": is_preview(request),
        "is_from_site": is_from_site,
        "left_out": _left_out(request, study, seen),
        "seen": seen,
        "ids": identity.named_ids(seen.external) if seen else [],
        "has_odd_id": seen is not None and not is_of_site(seen.external.id, seen.external.source),
        **_of_visit(request, study, seen),
        "length": study_length(study),
        "pay": pay_told(study, external.channel or external.source) if is_paid else None,
        "ids_until": consenting.ids_until(study, timezone.now()),
        "site": sent_by(study, seen.external.channel or seen.external.source) if seen else "",
        "is_advised": is_advised(study),
        "has_survey": bool(asked),
        "has_attention": any(question.rules.is_check for question in asked),
        "questions": DemographicsForm(fields=study.demographic_fields, field=study.field),
    }
    if not is_undecided:
        return render(request, "participant/consent.html", context)
    context["errors"] = {"agree": _("Please choose one of the two answers.")}
    return render(request, "participant/consent.html", context, status=UNPROCESSABLE)


def _left_out(
    request: HttpRequest, study: Study, seen: identity.Entry | None
) -> list[StudyProblem]:
    """Problems because of which a member who tries a draft sees less than participants will; nobody else gets to a draft's first page."""
    is_tried = study.recruitment == study.Recruitment.DRAFT and not is_preview(request)
    return completion_problems(study) if is_tried and seen and not seen.simulated else []


def _of_visit(request: HttpRequest, study: Study, seen: identity.Entry | None) -> dict[str, str]:
    """For the page's form, and who it may be that it leads away from: any page can have led the browser here by a link."""
    other = identity.read_participant(request, study)
    is_under_way = other is not None and not other.has_ended
    return {
        "entry": identity.for_form(study, seen) if seen and not is_preview(request) else "",
        "begun_url": url_of(other) if other and is_under_way else "",
    }


def _may_enter(request: HttpRequest, study: Study, seen: identity.Entry) -> str:
    """The kind of participant this visitor would be; NotOpenError where the study takes no new participants."""
    if seen.simulated:
        return Participant.Kind.SIMULATED
    keep_or_end(request.session)  # lab/access.py does not, at these addresses
    is_member = Study.objects.visible_to(request.user).filter(pk=study.pk).exists()
    return consenting.entry_kind(
        study, timezone.now(), is_member=is_member, channel=seen.external.channel
    )


def decide(request: HttpRequest, study: Study) -> HttpResponse:
    """The consent form was sent."""
    seen = identity.sent_entry(request, study)
    agree = request.POST.get("agree", "")
    if agree == "no":
        return decline(request, study, seen)
    if agree == "continue":
        return go_on_by_link(request, study, seen)
    if agree != "yes":
        return render_consent(request, study, seen, is_undecided=True)
    if seen is None:
        url = study.get_absolute_url()
        return problem(request, "no_cookie", study=study, action_url=url, asks_code=True)
    participant = consenting.enroll(
        study,
        kind=lambda: _enters_as(request, study, seen),
        consent_sha256=request.POST.get("consent_sha256", ""),
        key=seen.key,
        external=seen.external,
        code=seen.code,
        address=address_of(request),
        now=timezone.now(),
    )
    response = go_on(request, participant)
    identity.write_entry(request, response, study, seen)
    identity.write_participant(response, study, participant)
    return response


def go_on_by_link(request: HttpRequest, study: Study, seen: identity.Entry | None) -> HttpResponse:
    """Somebody says that they are who began with the link that they followed."""
    returner = consenting.find_by_link(study, seen.external) if seen else None
    if seen is None or returner is None:
        return redirect(study)
    response = resume(request, study, returner)
    identity.write_entry(request, response, study, seen)
    identity.write_participant(response, study, returner, by_link=True)
    return response


def _enters_as(request: HttpRequest, study: Study, seen: identity.Entry) -> str:
    """As `_may_enter`; a member's pilot of a study that was not opened yet sees advice too."""
    kind = _may_enter(request, study, seen)
    with suppress(ValidationError):  # the first page says so, and the rest can be tried
        freeze_to_try(study, timezone.now())
    return kind


def decline(request: HttpRequest, study: Study, seen: identity.Entry | None) -> HttpResponse:
    """Nothing was stored, and nothing is; unless this visitor agreed in another tab meanwhile."""
    participant = identity.read_participant(request, study)
    if participant is not None and (seen is None or seen.may_be(participant)):
        url = url_of(participant)
        return problem(request, "already_taking_part", study=study, action_url=url)
    external = seen.external if seen else NO_EXTERNAL_IDS
    context = {"study": study, "ending": ending(study, external)}
    return render(request, "participant/declined.html", context)
