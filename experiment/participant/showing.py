"""The page that a participant is on: shown at its address, or within the answer to the page before."""

import logging
import uuid
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.template import loader
from django.utils import timezone

from experiment.models import Participant, Study, Trial
from experiment.participant import pages
from experiment.participant.forms import DemographicsForm, TrialForm
from experiment.participant.identity import external_ids
from experiment.participant.kept import fill, shown_abstract, version_of
from experiment.participant.problems import wants_json
from experiment.participant.writing import MAX_ANSWER, QuestionForm
from experiment.services import taking_part
from experiment.services.channels import ending
from experiment.services.counts import study_duration

logger = logging.getLogger(__name__)
Stage = Participant.Stage


def go_on(
    request: HttpRequest,
    participant: Participant,
    shown: Trial | None = None,
    *,
    with_page: bool = True,
) -> HttpResponse:
    """To the participant's page: by a redirect or, for a page's own script, by its address and that page itself.

    `shown` is the trial that the participant is on, where it was drawn with what was sent.
    """
    if not wants_json(request):
        return pages.redirect_to(participant)
    page = _page(request, participant, shown) if with_page else {}
    return JsonResponse({"next": pages.url_of(participant), **page})


def _page(request: HttpRequest, participant: Participant, shown: Trial | None) -> dict[str, str]:
    """What a GET of the participant's page would show; nothing where that fails."""
    try:
        if shown is None:
            response = show(request, participant)
        else:
            response = render_trial(request, participant, pages.trial_page(shown))
    except Exception:
        # What was sent is stored: the answer must say so, and the page's own request what is wrong with it
        logger.warning("The next page was left out of an answer.", exc_info=True)
        return {}
    return {"page": response.content.decode()} if response.status_code == 200 else {}


def show(request: HttpRequest, participant: Participant) -> HttpResponse:
    """The participant's page with nothing filled in, or the way there where it is not one of a sequence."""
    view = VIEWS.get(Stage(participant.stage))
    return view(request, participant) if view else pages.redirect_to(participant)


def demographics(request: HttpRequest, participant: Participant) -> HttpResponse:
    study = participant.study

    def context() -> dict[str, Any]:
        return {"form": DemographicsForm(fields=study.demographic_fields, field=study.field)}

    return render_kept(request, participant, "demographics", (), context)


def practice(request: HttpRequest, participant: Participant) -> HttpResponse:
    return render_trial(request, participant, pages.practice_page(participant))


def start(request: HttpRequest, participant: Participant) -> HttpResponse:
    """The practice was right; how many trials come, and about how long they take."""
    hours = participant.study.resume_hours
    practised = pages.practice_result(participant)
    duration = study_duration(participant.study)
    # In hours where days would be few, or not whole
    days = 0 if hours % 24 or hours < 48 else hours // 24

    def context() -> dict[str, Any]:
        shared = {"duration": duration, "resume_days": days}
        if practised is None:
            return shared
        item, side = practised
        segments = pages.original_segments(item.segments)
        return {"practice": {"side": side, "segments": segments}, **shared}

    named = practised and (practised[0].sha256, practised[1])
    return render_kept(request, participant, "start", (named, duration), context)


def trial(request: HttpRequest, participant: Participant) -> HttpResponse:
    shown = taking_part.show_trial(participant, participant.position, timezone.now())
    return render_trial(request, participant, pages.trial_page(shown))


def debrief(request: HttpRequest, participant: Participant) -> HttpResponse:
    return render_page(request, participant, "debrief", {"debrief": pages.results(participant)})


def done(request: HttpRequest, participant: Participant) -> HttpResponse:
    ends = ending(participant.study, external_ids(participant))
    # The address holds the participant's id: it is theirs alone, and not kept
    own = {"completion_url": ends.completion_url} if ends.completion_url else {}
    kept = replace(ends, completion_url="", screen_out_url="", full_url="")
    return render_kept(request, participant, "done", (kept, *own), lambda: {"ending": kept}, own)


VIEWS: dict[Stage, Callable[[HttpRequest, Participant], HttpResponse]] = {
    Stage.DEMOGRAPHICS: demographics,
    Stage.PRACTICE: practice,
    Stage.START: start,
    Stage.TRIAL: trial,
    Stage.DEBRIEF: debrief,
    Stage.FINISHED: done,
}


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
    study = participant.study
    own = {
        "trial_token": page.token,
        "idempotency_key": str(uuid.uuid4()),
        **_shown(page, study),
    }
    name, names = "trial", TrialForm.QUESTIONS
    if page.is_question:
        name, names = "question", QuestionForm.QUESTIONS
    context = {
        "is_practice": page.is_practice,
        "max_answer": MAX_ANSWER,
        "given": {name: form.data.get(name, "") if form else "" for name in names},
        "ratings_required": study.ratings_required,
    }
    if form is None:
        return render_kept(request, participant, name, (), lambda: context, own)
    return render_page(request, participant, name, context | notices | own, status)


def _shown(page: pages.TrialPage, study: Study) -> dict[str, str]:
    if page.is_question:
        return {"question_text": page.markup}
    return shown_abstract(page.markup, page.original_side, study.abstract_language)


def is_preview(request: HttpRequest) -> bool:
    """Whether somebody only looks at the page, who takes no part (experiment/preview)."""
    return getattr(request, "is_preview", False)


def render_page(
    request: HttpRequest,
    participant: Participant,
    name: str,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    shared = _shared(participant) | {"is_preview": is_preview(request)}
    shown = shared | _own(request, participant) | context
    return HttpResponse(loader.render_to_string(f"participant/{name}.html", shown), status=status)


def render_kept(
    request: HttpRequest,
    participant: Participant,
    name: str,
    key: Hashable,
    context: Callable[[], dict[str, Any]],
    own: Mapping[str, str] = MappingProxyType({}),
) -> HttpResponse:
    """A page with nothing filled in. `context` depends on the study, the page and `key` alone; `own` is what else is shown."""
    if is_preview(request):  # of texts that are not saved yet: nothing to keep
        return render_page(request, participant, name, context() | dict(own))
    here = (name, version_of(participant.study), pages.progress(participant), key)

    def render(marks: Mapping[str, str]) -> str:
        shared = _shared(participant) | context()
        return loader.render_to_string(f"participant/{name}.html", shared | dict(marks))

    return HttpResponse(fill(here, render, {**_own(request, participant), **own}))


def _shared(participant: Participant) -> dict[str, Any]:
    return {
        "study": participant.study,
        "progress": pages.progress(participant),
        "form_action": pages.url_of(participant),
    }


def _own(request: HttpRequest, participant: Participant) -> dict[str, str]:
    return {
        "csrf_token": get_token(request),
        "csp_nonce": str(request.csp_nonce),  # type: ignore[attr-defined]
        "own_code": participant.withdrawal_code,
    }
