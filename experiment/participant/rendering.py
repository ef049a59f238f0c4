"""How a participant's page is rendered, where it is, and how far on their way its reader is."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.template import loader
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django_stubs_ext import StrOrPromise

from experiment.models import Participant
from experiment.participant.identity import shown_code, was_shown_code
from experiment.services.study_language import version_of
from lib.fast.kept import fill

Stage = Participant.Stage

PAGE_NAMES = {
    Stage.DEMOGRAPHICS: "demographics",
    Stage.SURVEY_BEFORE: "survey_before",
    Stage.PRACTICE: "practice",
    Stage.START: "start",
    Stage.TRIAL: "trial",
    Stage.SURVEY_AFTER: "survey_after",
    Stage.DEBRIEF: "debrief",
    Stage.FINISHED: "done",
    Stage.WITHDRAWN: "withdraw",
}

# Beside the bar; a trial says which one it is
PAGE_LABELS: Mapping[Stage, StrOrPromise] = {
    Stage.DEMOGRAPHICS: gettext_lazy("About you"),
    Stage.SURVEY_BEFORE: gettext_lazy("A few questions"),
    Stage.PRACTICE: gettext_lazy("Practice"),
    Stage.START: gettext_lazy("Practice done"),
    Stage.SURVEY_AFTER: gettext_lazy("A few questions"),
    Stage.DEBRIEF: gettext_lazy("Your results"),
    Stage.FINISHED: gettext_lazy("Done"),
    Stage.WITHDRAWN: gettext_lazy("Done"),
}


def url_of(participant: Participant) -> str:
    """The address of the page that the participant is on."""
    args: list[Any] = [participant.study.slug]
    if participant.trial_position is not None:
        args.append(participant.trial_position)
    return reverse(f"participant:{PAGE_NAMES[Stage(participant.stage)]}", args=args)


def redirect_to(participant: Participant) -> HttpResponse:
    # 303: whatever the method was, the next request is a GET.
    return HttpResponseRedirect(url_of(participant), status=303)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the participant is: pages done and pages in all. Consent, which is done, is a page too."""

    stage: str
    value: int
    max: int
    position: int
    n_trials: int
    n_questions: int = 0

    @property
    def n_abstracts(self) -> int:
        return self.n_trials - self.n_questions

    @property
    def label(self) -> str:
        """The name of the page."""
        if self.stage == Stage.TRIAL:
            return self.task
        if self.stage == Stage.START and not self.n_abstracts:
            return gettext("The study starts now")
        return str(PAGE_LABELS[Stage(self.stage)])

    @property
    def task(self) -> str:
        """The name of the trial: an abstract or a question; where a participant has both, a task."""
        name = gettext("Task %(n)s of %(n_all)s")
        if not self.n_questions:
            name = gettext("Abstract %(n)s of %(n_all)s")
        elif not self.n_abstracts:
            name = gettext("Question %(n)s of %(n_all)s")
        return name % {"n": self.position, "n_all": self.n_trials}


def progress(participant: Participant) -> Progress:
    return Progress(
        participant.stage,
        participant.page_number + 1,
        participant.n_pages + 1,
        participant.position,
        participant.n_trials,
        participant.n_questions,
    )


def is_preview(request: HttpRequest) -> bool:
    """True if somebody only looks at the page, who takes no part (experiment/preview)."""
    return getattr(request, "is_preview", False)


def render_page(
    request: HttpRequest,
    participant: Participant,
    name: str,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    shared = _shared(participant, progress(participant)) | {"is_preview": is_preview(request)}
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
    arm, at = participant.arm, progress(participant)
    of_arm = arm and (arm.pk, arm.instructions, arm.debriefing)
    here = (name, version_of(participant.study), of_arm, at, key)

    def render(marks: Mapping[str, str]) -> str:
        shared = _shared(participant, at) | context()
        return loader.render_to_string(f"participant/{name}.html", shared | dict(marks))

    return HttpResponse(fill(here, render, {**_own(request, participant), **own}))


def _shared(participant: Participant, at: Progress) -> dict[str, Any]:
    return {
        "study": participant.study,
        "arm": participant.arm,
        "progress": at,
        "form_action": url_of(participant),
    }


def _own(request: HttpRequest, participant: Participant) -> dict[str, str]:
    return {
        "csrf_token": get_token(request),
        "csp_nonce": str(request.csp_nonce),  # type: ignore[attr-defined]
        "own_code": shown_code(request, participant),
        "code_note": ""
        if was_shown_code(request)
        else gettext(
            "This browser does not show your code, because you came here by a link. You saw it when you agreed to take part."
        ),
    }
