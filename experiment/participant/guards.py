"""Guards of participants' pages, and what is shown instead of a page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from experiment.domain.assignment import NoItemLeftError
from experiment.models import Participant, Study
from experiment.participant import identity
from experiment.participant.problems import problem
from experiment.participant.rendering import redirect_to
from experiment.services.channels import NO_EXTERNAL_IDS, count_unfilled_link, ending
from experiment.services.consenting import note_turned_away
from experiment.services.flow import (
    FlowError,
    GroupFullError,
    KnownIdError,
    NotOpenError,
    Refusal,
    UnfilledLinkError,
    WrongPageError,
)
from experiment.services.study_language import speaking

View = Callable[..., HttpResponse]


def shows_problems(view: View) -> View:
    """Turn what services refuse into pages with the right status."""

    @never_cache
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        study = identity.read_study(request, slug)
        with speaking(study):
            try:
                return view(request, study, **kwargs)
            except FlowError as error:
                return refused(request, study, error)
            except NoItemLeftError:
                return problem(request, "no_item_left", study=study)

    return wrapped


def refused(request: HttpRequest, study: Study, error: FlowError) -> HttpResponse:
    """The page about an action that the participant's state, or the study's, does not allow."""
    url, code = study.get_absolute_url(), ""
    if isinstance(error, UnfilledLinkError):
        if request.method == "GET":
            count_unfilled_link(study, timezone.now())
        return problem(request, error.refusal, study=study, parameter=error.parameter)
    is_newcomer = isinstance(error, NotOpenError | KnownIdError)
    is_of_full_group = isinstance(error, GroupFullError)
    if is_newcomer or is_of_full_group:
        if isinstance(error, GroupFullError):
            external = identity.external_ids(error.participant)
        else:
            entry = identity.read_entry(request, study)
            external = entry.external if entry else NO_EXTERNAL_IDS
        is_full = error.refusal == Refusal.STUDY_FULL
        if is_full:
            note_turned_away(study, timezone.now())
        ends = ending(study, external)
        url = ends.full_url if is_full else ends.screen_out_url
        code = ends.full_code if is_full else ends.screen_out_code
    return problem(
        request,
        error.refusal,
        study=study,
        action_url=url,
        action_code=code,
        asks_code=is_newcomer,
    )


def on_stage(*stages: str) -> Callable[[View], View]:
    """Let in who is on one of these pages; send others who look at it to where they are.

    A POST is left to the service, which knows whether it is a repetition or a mistake.
    """

    def decorate(view: View) -> View:
        @shows_problems
        @wraps(view)
        def wrapped(request: HttpRequest, study: Study, **kwargs: Any) -> HttpResponse:
            participant = identity.read_participant(request, study)
            looks = request.method != "POST"
            if participant is None:
                return unknown(request, study)
            if participant.screened_out_at is not None and not participant.has_ended:
                raise GroupFullError(participant)
            # An answer to a page that stayed open is taken, however late; only a return can be too late.
            if looks and not may_go_on(participant):
                return resume(request, study, participant)
            if looks and participant.stage not in stages:
                return redirect_to(participant)
            try:
                return view(request, study, participant, **kwargs)
            except WrongPageError:
                if not looks:
                    raise
                # An answer from another tab was stored since the participant was read
                participant.refresh_from_db()
                return redirect_to(participant)

        return wrapped

    return decorate


def unknown(request: HttpRequest, study: Study) -> HttpResponse:
    """A page of somebody who takes part, asked for by a browser that does not say who that is."""
    url = study.get_absolute_url()
    return problem(request, "unknown_participant", study=study, action_url=url, asks_code=True)


def resume(request: HttpRequest, study: Study, participant: Participant) -> HttpResponse:
    if may_go_on(participant):
        return redirect_to(participant)
    return problem(request, "too_late", study=study)


def may_go_on(participant: Participant) -> bool:
    return participant.has_ended or participant.may_resume(timezone.now())
