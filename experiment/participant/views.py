"""The participant's pages. Views read the request and choose the page; use cases do the work."""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from experiment import enrollment, judging, withdrawal
from experiment.domain.assignment import NoItemLeftError
from experiment.flow import (
    AlreadyAnsweredError,
    ConsentChangedError,
    FlowError,
    ForeignTrialError,
    NotOpenError,
    current_page,
)
from experiment.models import Participant, Study
from experiment.participant import identity, pages
from experiment.participant.forms import DebriefForm, DemographicsForm, TrialForm
from experiment.participant.problems import problem, wants_json

Stage = Participant.Stage
View = Callable[..., HttpResponse]

UNPROCESSABLE = 422  # understood, but something is missing


def get_study(slug: str) -> Study:
    return get_object_or_404(Study, slug=slug)


def sends_problems(view: View) -> View:
    """Turn what use cases refuse into pages with the right status."""

    @never_cache
    @require_http_methods(["GET", "POST"])
    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        study = get_study(slug)
        back = {
            "study": study,
            "action_url": study.get_absolute_url(),
            "action_label": "Go on where you were",
        }
        try:
            return view(request, study, **kwargs)
        except NotOpenError as error:
            template = "participant/not_open.html"
            leave = {
                "study": study,
                "action_url": study.screen_out_url,
                "action_label": "Leave the study",
            }
            return problem(request, 403, error.title, error.message, template=template, **leave)
        except ForeignTrialError as error:
            return problem(request, 403, "This is not your page", error.message, **back)
        except AlreadyAnsweredError as error:
            return problem(request, 409, "Already answered", error.message, **back)
        except ConsentChangedError as error:
            return problem(
                request,
                409,
                "Please read again",
                error.message,
                **{**back, "action_label": "Read again"},
            )
        except FlowError as error:
            return problem(request, 409, "You are on another page", error.message, **back)
        except NoItemLeftError:
            message = "There are no more abstracts to show. Your answers are stored; please tell the researchers."
            return problem(request, 503, "No abstract left", message, study=study)

    return wrapped


def on_stage(*stages: str) -> Callable[[View], View]:
    """Let in who is on one of these pages; send others on a GET to where they are.

    A POST is left to the use case, which knows whether it is a repetition or a mistake.
    """

    def decorate(view: View) -> View:
        @sends_problems
        @wraps(view)
        def wrapped(request: HttpRequest, study: Study, **kwargs: Any) -> HttpResponse:
            participant = identity.read_participant(request, study)
            if participant is not None and not _may_go_on(participant):
                return resume(request, study, participant)
            if participant is None:
                if request.method == "GET":
                    return redirect(study)
                message = "Your browser did not say who you are. Please allow cookies, and enter the study again."
                return problem(
                    request,
                    403,
                    "We do not know you",
                    message,
                    study=study,
                    action_url=study.get_absolute_url(),
                )
            if request.method == "GET" and participant.stage not in stages:
                return pages.redirect_to(participant)
            return view(request, study, participant, **kwargs)

        return wrapped

    return decorate


def go_on(request: HttpRequest, participant: Participant, *, url: str = "") -> HttpResponse:
    """To the participant's page: as a redirect, or as an address for the page's own script."""
    if wants_json(request):
        return JsonResponse({"next": url or pages.url_of(participant)})
    return pages.redirect_to(participant)


def render_page(
    request: HttpRequest,
    participant: Participant,
    name: str,
    context: dict[str, Any],
    status: int = 200,
):
    shared = {
        "study": participant.study,
        "progress": pages.progress(participant),
        "form_action": request.path,
    }
    return render(request, f"participant/{name}.html", shared | context, status=status)


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


def resume(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if _may_go_on(participant):
        return pages.redirect_to(participant)
    message = (
        f"You were last here more than {study.resume_hours} hours ago, which is too long to go on."
    )
    return problem(request, 403, "The time to come back has passed", message, study=study)


def _may_go_on(participant: Participant) -> bool:
    return participant.has_ended or enrollment.may_resume(participant, timezone.now())


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


@on_stage(Stage.DEMOGRAPHICS)
def demographics(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    form = DemographicsForm(request.POST or None, asked=study.demographic_fields)
    if request.method == "POST" and form.is_valid():
        return go_on(
            request, enrollment.save_demographics(participant, form.cleaned_data, timezone.now())
        )
    if participant.stage != Stage.DEMOGRAPHICS:
        return go_on_after_conflict(request, study)
    status = 200 if request.method == "GET" else UNPROCESSABLE
    return render_page(request, participant, "demographics", {"form": form}, status)


@on_stage(Stage.PRACTICE)
def practice(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if request.method == "POST" and participant.stage == Stage.TRIAL:
        return go_on(request, participant)
    if participant.stage != Stage.PRACTICE:
        return go_on_after_conflict(request, study)
    context = pages.practice_context(participant)
    if request.method == "GET":
        return render_trial(request, participant, context)
    form = TrialForm(request.POST, ratings_required=False, practice=True)
    if not form.is_valid():
        return render_invalid(request, participant, context, form)
    side = form.cleaned_data["side"]
    if wants_json(request) and side != enrollment.practice_side(participant):
        # The script sends the form once more as a page; that one is the attempt.
        return problem(request, UNPROCESSABLE, "Not this one", "Please read again.")
    if enrollment.attempt_practice(participant, side, timezone.now()):
        participant.refresh_from_db()
        return go_on(request, participant)
    return render_trial(
        request, participant, context | {"practice_feedback": "wrong"}, form.data, UNPROCESSABLE
    )


@on_stage(Stage.TRIAL)
def trial(
    request: HttpRequest, study: Study, participant: Participant, position: int
) -> HttpResponse:
    if request.method == "GET":
        if current_page(participant).position != position:
            return pages.redirect_to(participant)
        shown = enrollment.show_trial(participant, position, timezone.now())
        return render_trial(request, participant, pages.trial_context(participant, shown))
    form = TrialForm(request.POST, ratings_required=study.ratings_required)
    if form.is_valid() and not form.needs_reminder:
        token, key = form.cleaned_data["trial_token"], form.cleaned_data["idempotency_key"]
        judging.judge(participant, position, token, key, form.answer(), timezone.now())
        participant.refresh_from_db()
        return go_on(request, participant)
    if not enrollment.is_shown(participant, position):
        return go_on_after_conflict(request, study)
    context = pages.trial_context(
        participant, enrollment.show_trial(participant, position, timezone.now())
    )
    if not form.is_valid():
        return render_invalid(request, participant, context, form)
    return render_trial(
        request, participant, context | {"ask_reminder": True}, form.data, UNPROCESSABLE
    )


def go_on_after_conflict(request: HttpRequest, study: Study) -> HttpResponse:
    message = "This form belongs to another page than the one you are on. Nothing was lost."
    label = "Go on where you were"
    return problem(
        request,
        409,
        "You are on another page",
        message,
        study=study,
        action_url=study.get_absolute_url(),
        action_label=label,
    )


def render_invalid(
    request: HttpRequest, participant: Participant, context: dict[str, Any], form: TrialForm
):
    status = 400 if form.is_malformed else UNPROCESSABLE
    return render_trial(
        request, participant, context | {"errors": form.shown_errors}, form.data, status
    )


def render_trial(
    request: HttpRequest,
    participant: Participant,
    context: dict[str, Any],
    data=None,
    status: int = 200,
):
    """A trial page, with what was already filled in."""
    given = {name: (data or {}).get(name, "") for name in ("confidence", "expertise", "recognised")}
    context = (
        context
        | given
        | {
            "choice": (data or {}).get("side", ""),
            "ratings_required": participant.study.ratings_required and not context["practice"],
            "idempotency_key": str(uuid.uuid4()),
        }
    )
    return render_page(request, participant, "trial", context, status)


@on_stage(Stage.DEBRIEF)
def debrief(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    form = DebriefForm(request.POST)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        cheated, comments = values["cheated"], values["comments"]
        participant = judging.finish(
            participant, cheated=cheated, comments=comments, now=timezone.now()
        )
        if study.completion_url and not wants_json(request):
            return HttpResponse(
                status=303, headers={"Location": pages.completion_url(study, participant)}
            )
        return go_on(request, participant)
    if participant.stage != Stage.DEBRIEF:
        return go_on_after_conflict(request, study)
    context = pages.results_context(participant)
    if request.method == "GET":
        return render_page(request, participant, "debrief", context)
    context |= {
        "errors": {name: errors[0] for name, errors in form.errors.items()},
        "comments_value": request.POST.get("comments", ""),
        "cheated_value": "cheated" in request.POST,
    }
    return render_page(request, participant, "debrief", context, UNPROCESSABLE)


@sends_problems
def done(request: HttpRequest, study: Study) -> HttpResponse:
    """The end, for as long as the browser remembers: code and link can be fetched again."""
    participant = identity.read_participant(request, study)
    if participant is None:
        return redirect(study)
    if participant.stage != Stage.FINISHED:
        return pages.redirect_to(participant)
    context = {
        "completion_code": study.completion_code,
        "completion_url": pages.completion_url(study, participant),
        "withdrawal_code": participant.withdrawal_code,
    }
    return render_page(request, participant, "done", context)


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


@sends_problems
def withdraw(request: HttpRequest, study: Study) -> HttpResponse:
    if request.method == "GET":
        return render(request, "participant/withdraw.html", {"study": study})
    code = request.POST.get("code", "")
    if len(code) > 100 or "\x00" in code:
        raise BadRequest("The code is not one that this site gives out.")
    if withdrawal.withdraw(study, code, timezone.now()) is None:
        context = {
            "study": study,
            "code_value": code,
            "errors": {"code": "This study has no such code. Please check it."},
        }
        return render(request, "participant/withdraw.html", context, status=UNPROCESSABLE)
    return render(request, "participant/withdraw.html", {"study": study, "withdrawn": True})
