"""The page that a participant is on: what is on it, and how it is shown, at its address or within the response to the form of the page before."""

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from experiment.domain import markup
from experiment.domain.advice import Certainty
from experiment.domain.assignment import OPPOSITE, Side
from experiment.domain.markup import by_side
from experiment.models import (
    Item,
    Participant,
    Study,
    SurveyQuestion,
    Trial,
)
from experiment.models.arms import ratings_required
from experiment.participant.forms import DemographicsForm, TrialForm
from experiment.participant.identity import external_ids
from experiment.participant.problems import wants_json
from experiment.participant.rendering import redirect_to, render_kept, render_page, url_of
from experiment.participant.results import original_segments, results
from experiment.participant.survey_form import SurveyForm
from experiment.participant.writing import MAX_ANSWER, QuestionForm
from experiment.services import advised, counting, drawing
from experiment.services.advised import ShownAdvice, shown_advice
from experiment.services.channels import ending
from experiment.services.counts import study_duration
from experiment.services.survey import asked
from experiment.services.taking_part import practice_item, practice_side

logger = logging.getLogger(__name__)
Stage = Participant.Stage

CERTAINTY_WORDS: Mapping[Certainty, StrOrPromise] = {
    "unsure": gettext_lazy("low, little more than a guess"),
    "fairly_sure": gettext_lazy("moderate"),
    "sure": gettext_lazy("high"),
    "very_sure": gettext_lazy("very high"),
}


@dataclass(frozen=True, slots=True)
class TrialPage:
    """One abstract to judge, a trial or the practice; or a question, whose text `markup` is."""

    token: str
    markup: str
    original_side: str
    is_practice: bool = False
    is_question: bool = False
    advice: ShownAdvice | None = None

    @property
    def revises(self) -> bool:
        """True if it asks to keep or change an answer, after which advice is shown."""
        return self.advice is not None and self.advice.follows_answer


def trial_page(trial: Trial) -> TrialPage:
    row = trial.given_advice
    return TrialPage(
        str(trial.token if row is None else row.token or trial.token),
        trial.item.markup,
        trial.original_side,
        is_question=trial.is_question,
        advice=None if row is None else shown_advice(row, trial.participant.study.adviser),
    )


def practice_page(participant: Participant) -> TrialPage:
    """With an example of the advice to come, where it is due: beside the abstract or after an answer of one's own."""
    item, example = practice_item(participant.study), advised.practice_example(participant)
    revises = example is not None and example.follows_answer
    token = str(uuid.uuid5(participant.public_id, "practice advice" if revises else "practice"))
    side = practice_side(participant)
    return TrialPage(token, item.markup, side, is_practice=True, advice=example)


def practice_result(participant: Participant) -> tuple[Item, Side] | None:
    """The result of the practice on the start page, which only the right choice leaves; None where there was none."""
    if not participant.judges_abstracts:
        return None
    return practice_item(participant.study), practice_side(participant)


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
        return redirect_to(participant)
    page = _page(request, participant, shown) if with_page else {}
    return JsonResponse({"next": url_of(participant), **page})


def _page(request: HttpRequest, participant: Participant, shown: Trial | None) -> dict[str, str]:
    """The content that a GET of the participant's page would show; nothing where that fails."""
    try:
        if shown is None:
            response = show(request, participant)
        else:
            response = render_trial(request, participant, trial_page(shown))
    except Exception:
        # What was sent is stored: the answer must say so, and the page's own request what is wrong with it
        logger.warning("The next page was left out of an answer.", exc_info=True)
        return {}
    return {"page": response.content.decode()} if response.status_code == 200 else {}


def show(request: HttpRequest, participant: Participant) -> HttpResponse:
    """The participant's page with nothing filled in, or the way there where it is not one of a sequence."""
    view = VIEWS.get(Stage(participant.stage))
    return view(request, participant) if view else redirect_to(participant)


def demographics(request: HttpRequest, participant: Participant) -> HttpResponse:
    study = participant.study

    def context() -> dict[str, Any]:
        return {"form": DemographicsForm(fields=study.demographic_fields, field=study.field)}

    return render_kept(request, participant, "demographics", (), context)


SURVEY_PLACES = {
    Stage.SURVEY_BEFORE: SurveyQuestion.Place.BEFORE,
    Stage.SURVEY_AFTER: SurveyQuestion.Place.AFTER,
}


def survey(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Those of the survey questions before or after the trials that this participant is asked."""
    place = SURVEY_PLACES[Stage(participant.stage)]

    def context() -> dict[str, Any]:
        return {"form": SurveyForm(questions=asked(participant, place))}

    key = (place.value, participant.arm_number)
    return render_kept(request, participant, "survey", key, context)


def practice(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Again, with a word, after a wrong choice."""
    is_wrong = participant.practice_attempts > 0
    page = practice_page(participant)
    notices: dict[str, Any] = {"is_wrong_practice": is_wrong}
    if is_wrong and page.revises:
        # What was sent last, which may differ from the answer before the advice
        notices["given"] = Given(side=OPPOSITE[page.original_side], confidence="")
    return render_trial(request, participant, page, **notices)


def start(request: HttpRequest, participant: Participant) -> HttpResponse:
    """The practice was right; how many trials come, and about how long they take."""
    practised = practice_result(participant)
    duration = study_duration(participant.study, participant.arm)
    ahead = advised.ahead_of(participant)

    def context() -> dict[str, Any]:
        shared = {"duration": duration, "ahead": ahead}
        if practised is None:
            return shared
        item, side = practised
        segments = original_segments(item.segments)
        return {"practice": {"side": side, "segments": segments}, **shared}

    named = practised and (practised[0].sha256, practised[1])
    return render_kept(request, participant, "start", (named, duration, ahead), context)


def trial(request: HttpRequest, participant: Participant) -> HttpResponse:
    now = timezone.now()
    counting.sweep_if_due(participant.study, participant.kind, now)
    shown = drawing.show_trial(participant, participant.position, now)
    return render_trial(request, participant, trial_page(shown))


def debrief(request: HttpRequest, participant: Participant) -> HttpResponse:
    return render_page(request, participant, "debrief", {"debrief": results(participant)})


def done(request: HttpRequest, participant: Participant) -> HttpResponse:
    ends = ending(participant.study, external_ids(participant))
    # The address holds the participant's id: it is theirs alone, and not kept
    own = {"completion_url": ends.completion_url} if ends.completion_url else {}
    kept = replace(ends, completion_url="", screen_out_url="", full_url="")
    return render_kept(request, participant, "done", (kept, *own), lambda: {"ending": kept}, own)


VIEWS: dict[Stage, Callable[[HttpRequest, Participant], HttpResponse]] = {
    Stage.DEMOGRAPHICS: demographics,
    Stage.SURVEY_BEFORE: survey,
    Stage.PRACTICE: practice,
    Stage.START: start,
    Stage.TRIAL: trial,
    Stage.SURVEY_AFTER: survey,
    Stage.DEBRIEF: debrief,
    Stage.FINISHED: done,
}


class Given(dict[str, Any]):
    """The values that are filled in, by question."""

    @property
    def is_side_a(self) -> bool:
        return self.get("side") == "A"

    @property
    def is_side_b(self) -> bool:
        return self.get("side") == "B"

    @property
    def knew_article(self) -> bool:
        return self.get("recognised") == "yes"

    @property
    def is_new_article(self) -> bool:
        return self.get("recognised") == "no"


def render_trial(
    request: HttpRequest,
    participant: Participant,
    page: TrialPage,
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
        "given": Given({name: form.data.get(name, "") if form else "" for name in names}),
        "ratings_required": ratings_required(study, participant.arm),
    }
    if page.advice is not None:  # one participant's own, and so never kept
        context |= _advice_context(page, page.advice, with_given=form is None)
        return render_page(request, participant, name, context | notices | own, status)
    if form is None:
        key = (context["ratings_required"], *notices.items())
        return render_kept(request, participant, name, key, lambda: context | notices, own)
    return render_page(request, participant, name, context | notices | own, status)


def _shown(page: TrialPage, study: Study) -> dict[str, str]:
    if page.is_question:
        return {"question_text": page.markup}
    return shown_abstract(page.markup, page.original_side, study.abstract_language)


def _advice_context(page: TrialPage, advice: ShownAdvice, *, with_given: bool) -> dict[str, Any]:
    """The advice that is shown and, after an answer of one's own, that answer in its place."""
    segments = by_side(markup.parse(page.markup).segments, cast(Side, page.original_side))
    passages = [s.side_a if advice.side == "A" else s.side_b for s in segments if s.is_alternation]
    context: dict[str, Any] = {
        "advice": advice,
        "certainty": CERTAINTY_WORDS[advice.words] if advice.words else "",
        "advice_passages": [passages[n - 1] for n in advice.passages if n <= len(passages)],
        "revises": page.revises,
    }
    if page.revises and with_given:
        confidence = advice.first_confidence
        context["given"] = Given(side=advice.first_side, confidence=confidence or "")
        context["is_reminded_before"] = confidence is None
    return context


@lru_cache(maxsize=4096)
def shown_abstract(text: str, original_side: str, language: str) -> dict[str, str]:
    """The shown abstract from an item's markup: its HTML, and by side the ids of its passages."""
    segments = by_side(markup.parse(text).segments, cast(Side, original_side))
    context = {
        "segments": segments,
        "selectable": True,
        "study": {"abstract_language": language},
    }
    places = [n for n, segment in enumerate(segments, 1) if segment.is_alternation]
    return {
        "abstract": loader.render_to_string("participant/_abstract.html", context),
        "passages_a": " ".join(f"passage-a-{n}" for n in places),
        "passages_b": " ".join(f"passage-b-{n}" for n in places),
    }
