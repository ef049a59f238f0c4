"""The list of the debrief: abstracts that a participant judged, which versions were the originals, and advice."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from experiment.domain.assignment import OPPOSITE
from experiment.domain.markup import Alternation, Segment
from experiment.models import (
    AdvisedTrial,
    Adviser,
    Judgment,
    Participant,
    Study,
)
from experiment.participant.pay import bonus_told
from experiment.services import advised
from experiment.services.advisers import adviser_of
from experiment.services.arms import arms_of
from experiment.services.drawing import known_item
from experiment.services.payments import TEST_STRATA
from lib.fast.prepared import Prepared


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
    advice_side: str = ""  # "" without advice
    first_side: str = ""  # what was chosen before the advice, where that was asked

    @property
    def original_side(self) -> str:
        return self.chosen_side if self.correct else OPPOSITE[self.chosen_side]

    @property
    def advice_is_right(self) -> bool:
        return self.advice_side == self.original_side

    @property
    def first_is_right(self) -> bool:
        return self.first_side == self.original_side


@dataclass(frozen=True, slots=True)
class Results:
    """The list of the debrief, and how many catch trials it leaves out.

    n_questions: that were asked. They are not listed: their answers are graded later, and who has read an expert answer
    could tell it to others who are still to be asked.
    """

    results: list[Result]
    n_unlisted: int
    n_questions: int = 0
    planted_percent: int | None = None  # how often advice was right that was made up for the study
    adviser: Adviser | None = None  # of a study with several arms, of which any has advice
    all_advised: bool = False  # each of these arms has
    bonus: str = ""  # that was earned, in words

    @property
    def n_advised(self) -> int:
        return sum(result.advice_side != "" for result in self.results)

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
    given = advised.given_to(participant)
    found = [_result(row, given.get(row.trial_id)) for row in listed]
    planted = advised.planted_percent(participant.study) if given else None
    told = told_of_groups(participant.study) if participant.arm_id else (None, True)
    n_right = sum(bool(row.correct) for row in answered if row.stratum in TEST_STRATA)
    bonus = bonus_told(participant, n_right)
    return Results(found, n_unlisted, n_questions, planted, *told, bonus)


def told_of_groups(study: Study) -> tuple[Adviser | None, bool]:
    """The adviser whom the debrief tells everybody of, and whether all groups had its advice."""
    arms = arms_of(study)
    is_told = len(arms) > 1 and any(arm.is_advised for arm in arms)
    return adviser_of(study) if is_told else None, all(arm.is_advised for arm in arms)


class Judged(NamedTuple):
    """A judgment, and what it was of."""

    position: int
    stratum: str
    correct: bool | None
    side: str
    item_id: int
    sha256: str
    trial_id: int


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
            "trial_id",
        )
    ),
    (1, 2),
)


def _result(row: Judged, given: AdvisedTrial | None) -> Result:
    item = known_item(row.item_id, row.sha256)
    segments = original_segments(item.segments)
    result = Result(
        row.position, bool(row.correct), row.side, segments, item.doi_url, item.subfield
    )
    if given is None:
        return result
    return replace(result, advice_side=given.advice_side, first_side=given.first_side)
