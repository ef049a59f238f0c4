"""Who may see a participant's page, and what they see instead."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from experiment import enrollment
from experiment.domain.assignment import NoItemLeftError
from experiment.flow import (
    AlreadyAnsweredError,
    AlreadySentError,
    ConsentChangedError,
    FlowError,
    ForeignTrialError,
    NotOpenError,
)
from experiment.models import Participant, Study
from experiment.participant import identity, pages
from experiment.participant.problems import problem, wants_json

View = Callable[..., HttpResponse]

UNPROCESSABLE = 422  # understood, but something is missing
GO_ON = "Go on where you were"
# What use cases refuse: status, title and what the way on is called; anything else is "another page"
REFUSALS: dict[type[FlowError], tuple[int, str, str]] = {
    ForeignTrialError: (403, "This is not your page", GO_ON),
    AlreadyAnsweredError: (409, "Already answered", GO_ON),
    AlreadySentError: (409, "Already sent", GO_ON),
    ConsentChangedError: (409, "Please read again", "Read again"),
}
ANOTHER_PAGE = (409, "You are on another page", GO_ON)


def get_study(slug: str) -> Study:
    return get_object_or_404(Study, slug=slug)


def sends_problems(view: View) -> View:
    """Turn what use cases refuse into pages with the right status."""

    @never_cache
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        study = get_study(slug)
        try:
            return view(request, study, **kwargs)
        except NotOpenError as error:
            seen = identity.read_entry(request, study)
            return problem(
                request,
                403,
                error.title,
                error.message,
                study=study,
                action_url=pages.fill_in(study.screen_out_url, seen.external.id if seen else ""),
                action_label="Leave the study",
                template="participant/not_open.html",
            )
        except FlowError as error:
            return refuse(request, study, error)
        except NoItemLeftError:
            message = "There are no more abstracts to show. Your answers are stored; please tell the researchers."
            return problem(request, 503, "No abstract left", message, study=study)

    return wrapped


def refuse(request: HttpRequest, study: Study, error: FlowError) -> HttpResponse:
    status, title, label = REFUSALS.get(type(error), ANOTHER_PAGE)
    url = study.get_absolute_url()
    return problem(
        request, status, title, error.message, study=study, action_url=url, action_label=label
    )


def on_stage(*stages: str) -> Callable[[View], View]:
    """Let in who is on one of these pages; send others who look at it to where they are.

    A POST is left to the use case, which knows whether it is a repetition or a mistake.
    """

    def decorate(view: View) -> View:
        @sends_problems
        @wraps(view)
        def wrapped(request: HttpRequest, study: Study, **kwargs: Any) -> HttpResponse:
            participant = identity.read_participant(request, study)
            looks = request.method != "POST"
            if participant is None:
                if looks:
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
            # An answer that was being written all the while is taken, however late; only a return can be too late.
            if looks and not may_go_on(participant):
                return resume(request, study, participant)
            if looks and participant.stage not in stages:
                return pages.redirect_to(participant)
            return view(request, study, participant, **kwargs)

        return wrapped

    return decorate


def resume(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if may_go_on(participant):
        return pages.redirect_to(participant)
    message = (
        f"You were last here more than {study.resume_hours} hours ago, which is too long to go on."
    )
    return problem(request, 403, "The time to come back has passed", message, study=study)


def may_go_on(participant: Participant) -> bool:
    return participant.has_ended or enrollment.may_resume(participant, timezone.now())


def go_on(request: HttpRequest, participant: Participant) -> HttpResponse:
    """To the participant's page: as a redirect, or as an address for the page's own script."""
    if wants_json(request):
        return JsonResponse({"next": pages.url_of(participant)})
    return pages.redirect_to(participant)
