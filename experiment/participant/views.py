"""The participant's pages. Views read the request and choose the page; services do the work."""

import uuid
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from experiment.models import Participant, Study
from experiment.participant import identity, pages
from experiment.participant.forms import DebriefForm, DemographicsForm, TrialForm
from experiment.participant.guards import (
    get_study,
    go_on,
    on_stage,
    resume,
    shows_problems,
    unknown,
)
from experiment.participant.identity import external_ids
from experiment.participant.problems import UNPROCESSABLE, problem, wants_json
from experiment.services import enrollment, judging, returns, withdrawal
from experiment.services.duration import study_duration
from experiment.services.flow import WrongPageError, current_page
from experiment.services.recruitment import ending

Stage = Participant.Stage


def render_page(
    request: HttpRequest,
    participant: Participant,
    name: str,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    shared = {
        "study": participant.study,
        "participant": participant,
        "progress": pages.progress(participant),
        "form_action": request.path,
    }
    return render(request, f"participant/{name}.html", shared | context, status=status)


@on_stage(Stage.DEMOGRAPHICS)
def demographics(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    form = DemographicsForm(
        request.POST or None, fields=study.demographic_fields, field=study.field
    )
    if request.method == "POST" and form.is_valid():
        return go_on(
            request, enrollment.save_demographics(participant, form.cleaned_data, timezone.now())
        )
    if participant.stage != Stage.DEMOGRAPHICS:
        raise WrongPageError
    status = 200 if request.method != "POST" else UNPROCESSABLE
    return render_page(request, participant, "demographics", {"form": form}, status)


@on_stage(Stage.PRACTICE)
def practice(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    """A trial in full; nothing of it is stored but the number of attempts."""
    if request.method == "POST" and participant.stage in (Stage.START, Stage.TRIAL):
        return go_on(request, participant)
    if participant.stage != Stage.PRACTICE:
        raise WrongPageError
    page = pages.practice_page(participant)
    if request.method != "POST":
        return render_trial(request, participant, page)
    form = TrialForm(request.POST, ratings_required=study.ratings_required)
    if not form.is_valid() or form.needs_reminder:
        return render_again(request, participant, page, form)
    side = form.cleaned_data["side"]
    if wants_json(request) and side != enrollment.practice_side(participant):
        # The script sends the form once more as a page; that one is the attempt.
        return problem(request, "wrong_side")
    if enrollment.attempt_practice(participant, side, timezone.now()):
        participant.refresh_from_db()
        return go_on(request, participant)
    return render_trial(
        request, participant, page, form, status=UNPROCESSABLE, is_wrong_practice=True
    )


@on_stage(Stage.START)
def start(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    """The practice was right; how many trials come, and about how long they take."""
    if request.method == "POST":
        return go_on(request, enrollment.start_trials(participant, timezone.now()))
    context = {
        "practice": pages.practice_result(participant),
        "duration": study_duration(study),
        # In hours where days would be few, or not whole
        "resume_days": 0
        if study.resume_hours % 24 or study.resume_hours < 48
        else study.resume_hours // 24,
    }
    return render_page(request, participant, "start", context)


@on_stage(Stage.TRIAL)
def trial(
    request: HttpRequest, study: Study, participant: Participant, position: int
) -> HttpResponse:
    now = timezone.now()
    if request.method != "POST":
        if current_page(participant).position != position:
            return pages.redirect_to(participant)
        shown = enrollment.show_trial(participant, position, now)
        return render_trial(request, participant, pages.trial_page(shown))
    form = TrialForm(request.POST, ratings_required=study.ratings_required)
    if form.is_valid() and not form.needs_reminder:
        token, key = form.cleaned_data["trial_token"], form.cleaned_data["idempotency_key"]
        judging.judge(participant, position, token, key, form.answer(), now)
        participant.refresh_from_db()
        return go_on(request, participant)
    if not enrollment.is_shown(participant, position):
        raise WrongPageError
    page = pages.trial_page(enrollment.show_trial(participant, position, now))
    return render_again(request, participant, page, form)


def render_again(
    request: HttpRequest, participant: Participant, page: pages.TrialPage, form: TrialForm
) -> HttpResponse:
    """The page with what is wrong, or with the reminder that a rating was left out."""
    notices: dict[str, Any]
    if form.is_valid():
        status, notices = UNPROCESSABLE, {"ask_reminder": True}
    else:
        status, notices = 400 if form.is_malformed else UNPROCESSABLE, {"errors": form.shown_errors}
    return render_trial(
        request, participant, page, form, status=status, focus_on=form.focus_on, **notices
    )


def render_trial(
    request: HttpRequest,
    participant: Participant,
    page: pages.TrialPage,
    form: TrialForm | None = None,
    *,
    status: int = 200,
    **notices: Any,
) -> HttpResponse:
    """A trial page, with what was already filled in."""
    names = ("side", "confidence", "expertise", "recognised")
    context = {
        "page": page,
        "given": {name: form.data.get(name, "") if form else "" for name in names},
        "ratings_required": participant.study.ratings_required,
        "idempotency_key": str(uuid.uuid4()),
    }
    return render_page(request, participant, "trial", context | notices, status)


@on_stage(Stage.DEBRIEF)
def debrief(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    form = DebriefForm(request.POST)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        cheated, comments = values["cheated"], values["comments"]
        participant = judging.finish(
            participant, cheated=cheated, comments=comments, now=timezone.now()
        )
        url = ending(study, external_ids(participant)).completion_url
        if url and not wants_json(request):
            return HttpResponse(status=303, headers={"Location": url})
        return go_on(request, participant)
    if participant.stage != Stage.DEBRIEF:
        raise WrongPageError
    context: dict[str, Any] = {"debrief": pages.results(participant)}
    if request.method != "POST":
        return render_page(request, participant, "debrief", context)
    context |= {
        "errors": {name: errors[0] for name, errors in form.errors.items()},
        "comments_value": request.POST.get("comments", ""),
        "cheated_value": "cheated" in request.POST,
    }
    return render_page(request, participant, "debrief", context, UNPROCESSABLE)


@shows_problems
def done(request: HttpRequest, study: Study) -> HttpResponse:
    """The end, for as long as the browser remembers: code and link can be fetched again."""
    participant = identity.read_participant(request, study)
    if participant is None:
        return unknown(request, study)
    if participant.stage != Stage.FINISHED:
        return pages.redirect_to(participant)
    ends = ending(study, external_ids(participant))
    context = {"ending": ends, "code": participant.withdrawal_code}
    return render_page(request, participant, "done", context)


@shows_problems
def come_back(request: HttpRequest, study: Study) -> HttpResponse:
    """Whoever holds a participant's code goes on as that participant, in any browser."""
    if request.method != "POST":
        return render(request, "participant/return.html", {"study": study})
    code = request.POST.get("code", "")
    participant = returns.find_by_code(study, code[:100])
    if participant is None:
        context = {
            "study": study,
            "code_value": code[:100],
            "errors": {"code": _("This study has no such code. Please check it.")},
        }
        return render(request, "participant/return.html", context, status=UNPROCESSABLE)
    response = resume(request, study, participant)
    identity.write_participant(response, study, participant)
    return response


@never_cache
@require_POST
def ping(request: HttpRequest, slug: str) -> HttpResponse:
    """The participant's page is open."""
    participant = identity.read_participant(request, get_study(slug))
    now = timezone.now()
    if participant is None or participant.has_ended or not enrollment.may_resume(participant, now):
        return HttpResponse(status=204)
    enrollment.touch(participant, timezone.now())
    return HttpResponse(status=204)


@shows_problems
def withdraw(request: HttpRequest, study: Study) -> HttpResponse:
    if request.method != "POST":
        participant = identity.read_participant(request, study)
        withdrawn = participant is not None and participant.stage == Stage.WITHDRAWN
        return render(
            request, "participant/withdraw.html", {"study": study, "withdrawn": withdrawn}
        )
    code = request.POST.get("code", "")
    if len(code) > 100 or "\x00" in code:
        raise BadRequest("The code is not one that this site gives out.")
    if withdrawal.withdraw(study, code, timezone.now()) is None:
        context = {
            "study": study,
            "code_value": code,
            "errors": {"code": _("This study has no such code. Please check it.")},
        }
        return render(request, "participant/withdraw.html", context, status=UNPROCESSABLE)
    return render(request, "participant/withdraw.html", {"study": study, "withdrawn": True})
