"""From a participant's state to an address, and to what every page shows."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from experiment.domain.assignment import QUESTION, Side
from experiment.domain.markup import Alternation, Segment
from experiment.models import Item, Judgment, Participant, Trial
from experiment.services.drawing import known_item
from experiment.services.flow import current_page, n_pages, page_number
from experiment.services.taking_part import practice_item, practice_side
from lib.prepared import Prepared

Stage = Participant.Stage

PAGE_NAMES = {
    Stage.DEMOGRAPHICS: "demographics",
    Stage.PRACTICE: "practice",
    Stage.START: "start",
    Stage.TRIAL: "trial",
    Stage.DEBRIEF: "debrief",
    Stage.FINISHED: "done",
    Stage.WITHDRAWN: "withdraw",
}


def url_of(participant: Participant) -> str:
    """The address of the page that the participant is on."""
    page = current_page(participant)
    args: list[Any] = [participant.study.slug]
    if page.position is not None:
        args.append(page.position)
    return reverse(f"participant:{PAGE_NAMES[Stage(page.stage)]}", args=args)


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


def progress(participant: Participant) -> Progress:
    n_done, n_all = page_number(participant), n_pages(participant.n_trials)
    return Progress(
        participant.stage,
        n_done + 1,
        n_all + 1,
        participant.position,
        participant.n_trials,
        participant.n_questions,
    )


@dataclass(frozen=True, slots=True)
class TrialPage:
    """One abstract to judge, a trial or the practice; or a question, whose text `markup` is."""

    token: str
    markup: str
    original_side: str
    is_practice: bool = False
    is_question: bool = False


def trial_page(trial: Trial) -> TrialPage:
    asked = trial.stratum == QUESTION
    return TrialPage(str(trial.token), trial.item.markup, trial.original_side, is_question=asked)


def practice_page(participant: Participant) -> TrialPage:
    item = practice_item(participant.study)
    token = str(uuid.uuid5(participant.public_id, "practice"))
    return TrialPage(token, item.markup, practice_side(participant), is_practice=True)


def practice_result(participant: Participant) -> tuple[Item, Side] | None:
    """What the start page says of the practice, which only the right choice leaves; None where there was none."""
    if not participant.judges_abstracts:
        return None
    return practice_item(participant.study), practice_side(participant)


@dataclass(frozen=True, slots=True)
class OriginalSegment:
    """A part of the original; where the other version differed, also what stood there."""

    text: str
    altered: str = ""
    is_alternation: bool = False


def original_segments(segments: Iterable[Segment]) -> list[OriginalSegment]:
    return [
        OriginalSegment(segment.original, segment.altered, True)
        if isinstance(segment, Alternation)
        else OriginalSegment(segment.text)
        for segment in segments
    ]


@dataclass(frozen=True, slots=True)
class Result:
    """A judged abstract, as the debrief lists it."""

    number: int
    correct: bool
    chosen_side: str
    segments: list[OriginalSegment]
    doi_url: str
    subfield: str


@dataclass(frozen=True, slots=True)
class Results:
    """What the debrief lists, and how many catch trials it leaves out.

    n_questions: that were asked. They are not listed: their answers are graded later, and who has read an expert answer
    could tell it to others who are still to be asked.
    """

    results: list[Result]
    n_unlisted: int
    n_questions: int = 0

    @property
    def n_listed(self) -> int:
        return len(self.results)

    @property
    def n_correct(self) -> int:
        return sum(result.correct for result in self.results)


def results(participant: Participant) -> Results:
    """The trials that the study lists, in the order in which they were shown, with their numbers then."""
    judged = [Judged(*values) for values in _of_participant(participant.pk)]
    with_catch = participant.study.debrief_catch_trials
    answered = [row for row in judged if row.correct is not None]
    listed = [row for row in answered if with_catch or row.stratum != "catch"]
    n_unlisted, n_questions = len(answered) - len(listed), len(judged) - len(answered)
    return Results([_result(row) for row in listed], n_unlisted, n_questions)


class Judged(NamedTuple):
    """A judgment, and what it was of."""

    position: int
    stratum: str
    correct: bool | None
    side: str
    item_id: int
    sha256: str


_of_participant = Prepared(
    lambda participant: (
        Judgment.objects.filter(trial__participant=participant)
        .order_by("trial__position")
        .values_list(
            "trial__position",
            "trial__stratum",
            "correct",
            "side",
            "trial__item",
            "trial__item__sha256",
        )
    ),
    (1, 2),
)


def _result(row: Judged) -> Result:
    item = known_item(row.item_id, row.sha256)
    segments = original_segments(item.segments)
    return Result(row.position, bool(row.correct), row.side, segments, item.doi_url, item.subfield)
