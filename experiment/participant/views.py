"""The participant's pages. Views read the request and choose the page; services do the work."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from experiment.models import Participant, Study
from experiment.models.arms import ratings_required
from experiment.participant import identity, showing
from experiment.participant.forms import DebriefForm, DemographicsForm, RevisionForm, TrialForm
from experiment.participant.guards import (
    on_stage,
    resume,
    shows_problems,
    unknown,
)
from experiment.participant.identity import external_ids
from experiment.participant.problems import problem, wants_json
from experiment.participant.rendering import redirect_to, render_page
from experiment.participant.results import results
from experiment.participant.showing import go_on, render_trial, show
from experiment.participant.survey_form import SurveyForm
from experiment.participant.writing import QuestionForm
from experiment.services import consenting, counting, drawing, taking_part, withdrawal
from experiment.services.advised import practice_follows
from experiment.services.channels import ending, sent_by
from experiment.services.flow import FlowError, TooSoonError, WrongPageError
from experiment.services.payments import keeps_id
from experiment.services.sign_in import WAIT, TooManyError, by_own_code
from experiment.services.survey import asked
from experiment.services.withdrawal import held_about
from lib.http import UNPROCESSABLE, address_of
from lib.locks import waiting_briefly
from lib.passing import is_lock_elsewhere, is_passing

logger = logging.getLogger(__name__)
Stage = Participant.Stage


@on_stage(Stage.DEMOGRAPHICS)
def demographics(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if request.method != "POST":
        return show(request, participant)
    form = DemographicsForm(request.POST, fields=study.demographic_fields, field=study.field)
    if form.is_valid():
        return go_on(
            request, taking_part.save_demographics(participant, form.cleaned_data, timezone.now())
        )
    if participant.stage != Stage.DEMOGRAPHICS:
        raise WrongPageError
    return render_page(request, participant, "demographics", {"form": form}, UNPROCESSABLE)


@on_stage(Stage.SURVEY_BEFORE)
def survey_before(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    return _survey(request, participant, Stage.SURVEY_BEFORE)


@on_stage(Stage.SURVEY_AFTER)
def survey_after(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    return _survey(request, participant, Stage.SURVEY_AFTER)


def _survey(request: HttpRequest, participant: Participant, stage: Stage) -> HttpResponse:
    if request.method != "POST":
        return show(request, participant)
    place = showing.SURVEY_PLACES[stage]
    form = SurveyForm(request.POST, questions=asked(participant, place))
    if form.is_valid():
        now = timezone.now()
        return go_on(request, taking_part.save_survey(participant, place, form.answers, now))
    if participant.stage != stage:
        raise WrongPageError
    return render_page(request, participant, "survey", {"form": form}, UNPROCESSABLE)


@on_stage(Stage.PRACTICE)
def practice(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    """A trial in full; nothing of it is stored for good but the number of attempts."""
    if request.method != "POST":
        return show(request, participant)
    if participant.stage in (Stage.START, Stage.TRIAL):
        return go_on(request, participant)
    if participant.stage != Stage.PRACTICE:
        raise WrongPageError
    form, revises = trial_form(request, participant)
    if not form.is_valid() or form.needs_reminder:
        page = showing.practice_page(participant)
        if page.revises != revises:
            raise WrongPageError
        return render_again(request, participant, page, form)
    is_attempt = revises or not practice_follows(participant)
    answer, key = form.answer(), form.cleaned_data["idempotency_key"]
    is_right = answer.side == taking_part.practice_side(participant)
    if wants_json(request) and is_attempt and not is_right:
        # The script sends the form once more as a page; that one is the attempt.
        return problem(request, "wrong_side")
    now = timezone.now()
    return go_on(request, taking_part.practise(participant, answer, now, key=key, revises=revises))


def trial_form(
    request: HttpRequest, participant: Participant, position: int = 0
) -> tuple[TrialForm, bool]:
    """The form that was sent, and whether from the page that shows advice after an answer of one's own; 0 is the practice."""
    revises = "revises" in request.POST
    form_class = RevisionForm if revises else TrialForm
    if participant.is_asked(position):
        form_class = QuestionForm
    required = ratings_required(participant.study, participant.arm)
    return form_class(request.POST, ratings_required=required), revises


@on_stage(Stage.START)
def start(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if request.method != "POST":
        return show(request, participant)
    return go_on(request, taking_part.start_trials(participant, timezone.now()))


@on_stage(Stage.TRIAL)
def trial(
    request: HttpRequest, study: Study, participant: Participant, position: int
) -> HttpResponse:
    if request.method != "POST":
        if participant.trial_position != position:
            return redirect_to(participant)
        return show(request, participant)
    now = timezone.now()
    form, revises = trial_form(request, participant, position)
    if form.is_valid() and not form.needs_reminder:
        token, key = form.cleaned_data["trial_token"], form.cleaned_data["idempotency_key"]
        sent = taking_part.Sent(position, token, key, form.answer(), now, form.written, revises)
        try:
            return take(request, participant, sent)
        except TooSoonError:
            page = showing.trial_page(drawing.show_trial(participant, position, now))
            return render_trial(
                request,
                participant,
                page,
                form,
                status=UNPROCESSABLE,
                reads_on=True,
                is_reminded_before=form.cleaned_data["reminded"],
            )
    if not taking_part.is_shown(participant, position):
        raise WrongPageError
    page = showing.trial_page(drawing.show_trial(participant, position, now))
    if page.revises != revises:
        raise WrongPageError
    return render_again(request, participant, page, form)


def take(request: HttpRequest, participant: Participant, sent: taking_part.Sent) -> HttpResponse:
    """Store the answer; for a page's own script, show what comes next with it."""
    alone: AbstractContextManager[None] = nullcontext()
    if wants_json(request):
        try:
            counting.sweep_if_due(participant.study, participant.kind, sent.received_at)
            here, shown = taking_part.judge_and_show(participant, sent)
        except FlowError:
            raise
        except Exception as error:
            if is_passing(error) and not is_lock_elsewhere(error):
                raise  # storing alone would fail as well, and after as long a wait
            # No answer is lost because the next trial cannot be drawn
            logger.error(
                "An answer is taken without showing the next trial: %s",
                error,
                exc_info=not is_passing(error),
            )
            alone = waiting_briefly()
        else:
            return go_on(request, here, shown)
    with alone:
        judgment = taking_part.judge(participant, sent)
    # Where drawing failed, its page's own request says why
    return go_on(request, judgment.trial.participant, with_page=False)


def render_again(
    request: HttpRequest,
    participant: Participant,
    page: showing.TrialPage,
    form: TrialForm,
) -> HttpResponse:
    """The page with what is wrong, or with the reminder that a rating was left out."""
    notices: dict[str, Any]
    if form.is_valid():
        status, notices = UNPROCESSABLE, {"ask_reminder": True}
    else:
        status = HTTPStatus.BAD_REQUEST if form.is_malformed else UNPROCESSABLE
        notices = {"errors": form.shown_errors}
    return render_trial(
        request, participant, page, form, status=status, focus_on=form.focus_on, **notices
    )


@on_stage(Stage.DEBRIEF)
def debrief(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if request.method != "POST":
        return show(request, participant)
    form = DebriefForm(request.POST)
    if form.is_valid():
        values = form.cleaned_data
        cheated, comments = values["cheated"], values["comments"]
        external = external_ids(participant)
        participant = taking_part.finish(
            participant, cheated=cheated, comments=comments, now=timezone.now()
        )
        url = ending(study, external).completion_url
        if url and wants_json(request):
            return JsonResponse({"next": url})
        if url:
            return HttpResponse(status=303, headers={"Location": url})
        return go_on(request, participant)
    if participant.stage != Stage.DEBRIEF:
        raise WrongPageError
    context = {
        "debrief": results(participant),
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
        return redirect_to(participant)
    return show(request, participant)


def _by_own_code(
    request: HttpRequest, study: Study, code: str, find: Callable[[], Participant | None]
) -> Participant | None:
    here = identity.read_participant(request, study)
    known = here if identity.was_shown_code(request) else None  # others could try without end
    return by_own_code(study, address_of(request), known, code, find)


def _no_code(
    request: HttpRequest, study: Study, page: str, code: str, *, is_refused: bool = False
) -> HttpResponse:
    """The page once more: nobody has this code, or too many wrong ones came from here."""
    said = _("Nobody in this study has this code. Please check the code.")
    if is_refused:
        said = _(
            "Too many wrong codes were entered from your network. Please wait %(minutes)d minutes and try again, or write to "
            "the study team."
        ) % {"minutes": WAIT.seconds // 60}
    context = {"study": study, "code_value": code[:100], "errors": {"code": said}}
    status = HTTPStatus.TOO_MANY_REQUESTS if is_refused else UNPROCESSABLE
    response = render(request, f"participant/{page}.html", context, status=status)
    if is_refused:
        response["Retry-After"] = str(WAIT.seconds)
    return response


@shows_problems
def come_back(request: HttpRequest, study: Study) -> HttpResponse:
    """Lets a person with a participant's code go on as that participant, in any browser."""
    if request.method != "POST":
        return render(request, "participant/return.html", {"study": study})
    code = request.POST.get("code", "")
    try:
        participant = _by_own_code(
            request, study, code, lambda: consenting.find_by_code(study, code[:100])
        )
    except TooManyError:
        return _no_code(request, study, "return", code, is_refused=True)
    if participant is None:
        return _no_code(request, study, "return", code)
    response = resume(request, study, participant)
    identity.write_participant(response, study, participant)
    return response


@never_cache
@require_POST
def ping(request: HttpRequest, slug: str) -> HttpResponse:
    """The participant's page is open."""
    participant = identity.read_participant(request, identity.read_study(request, slug))
    now = timezone.now()
    if participant is None or participant.has_ended or not participant.may_resume(now):
        return HttpResponse(status=204)
    taking_part.touch(participant, timezone.now())
    return HttpResponse(status=204)


@shows_problems
def withdraw(request: HttpRequest, study: Study) -> HttpResponse:
    """With their code participants see what is held about them; sent once more, with `confirm`, they withdraw."""
    if request.method != "POST":
        participant = identity.read_participant(request, study)
        withdrawn = participant is not None and participant.stage == Stage.WITHDRAWN
        return render(
            request, "participant/withdraw.html", {"study": study, "withdrawn": withdrawn}
        )
    code = request.POST.get("code", "")
    if len(code) > 100 or "\x00" in code:
        raise BadRequest("This site does not issue such a code.")
    if request.POST.get("confirm", "1") != "1":
        raise BadRequest("The form was not sent by the page.")
    is_confirmed = "confirm" in request.POST

    def find() -> Participant | None:
        found = withdrawal.withdraw(study, code, timezone.now()) if is_confirmed else None
        return found or consenting.find_by_code(study, code)

    try:
        participant = _by_own_code(request, study, code, find)
    except TooManyError:
        return _no_code(request, study, "withdraw", code, is_refused=True)
    if participant is None:
        return _no_code(request, study, "withdraw", code)
    if is_confirmed or participant.stage == Stage.WITHDRAWN:
        context = {"study": study, "withdrawn": True, "anonymous": participant.is_anonymous}
        response = render(request, "participant/withdraw.html", context)
        identity.renew_entry(request, response, study, code)
        return response
    context = {
        "study": study,
        "held": held_about(participant),
        "keeps_id": keeps_id(participant),
        "ids": identity.named_ids(external_ids(participant)),
        "about": DemographicsForm.answered(participant.demographics, study.field),
        "site": sent_by(study, participant.external_source),
        "code_value": code,
    }
    return render(request, "participant/held.html", context)
