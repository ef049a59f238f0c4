"""A participant answers a trial, and comes to the end."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction

from experiment.domain.assignment import QUESTION, NoItemLeftError
from experiment.models import Judgment, Participant, Trial, WrittenAnswer
from experiment.services.counting import sweep_if_due
from experiment.services.drawing import until_drawn
from experiment.services.enrollment import show, trials_met
from experiment.services.exclusions import apply_exclusions
from experiment.services.flow import (
    FLOW_FIELDS,
    AlreadyAnsweredError,
    AlreadySentError,
    ForeignTrialError,
    WrongPageError,
    advance,
    lock,
    require,
)
from lib.prepared import insert, update

Stage = Participant.Stage


@dataclass(frozen=True, slots=True)
class Answer:
    """What a participant sends for one trial; None is "not given" or, for measures, "no JavaScript".

    To a question, `side` is "": what was written is in `Sent`.
    """

    side: str
    confidence: int | None = None
    expertise: int | None = None
    confidence_moved: bool = False
    expertise_moved: bool = False
    recognised: bool | None = None
    rt_choice_ms: int | None = None
    rt_final_choice_ms: int | None = None
    rt_ms: int | None = None
    confidence_first_ms: int | None = None
    confidence_last_ms: int | None = None
    expertise_first_ms: int | None = None
    expertise_last_ms: int | None = None
    changes: int | None = None
    aid_switches: int | None = None
    blur_count: int | None = None
    hidden_ms: int | None = None
    reloads: int | None = None
    viewport_width: int | None = None
    viewport_height: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """An answer in a participant's own words, or "I do not know" without any; times as those of `Answer`."""

    text: str = ""
    abstained: bool = False
    first_ms: int | None = None
    last_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer as it arrived: for which trial, by position and token; `key` is the same when it is sent again.

    written: the answer to a question; None to anything else.
    """

    position: int
    token: uuid.UUID
    key: uuid.UUID
    answer: Answer
    received_at: datetime
    written: Written | None = None


@transaction.atomic
def judge(participant: Participant, sent: Sent) -> Judgment:
    """Store an answer exactly once; the same key again returns what is stored.

    The participant as they are now is the judgment's `trial.participant`.
    """
    locked = lock(participant)
    return _judge(locked, trials_met(locked), sent)


def judge_and_show(participant: Participant, sent: Sent) -> tuple[Participant, Trial | None]:
    """Store an answer as `judge` does, and show the trial that comes next, if one does; in one transaction.

    The answer is stored all the same where no item is left to be shown.
    """
    sweep_if_due(participant.study, participant.kind, sent.received_at)
    return _judge_and_show(participant, sent)


@until_drawn
def _judge_and_show(participant: Participant, sent: Sent) -> tuple[Participant, Trial | None]:
    participant = lock(participant)
    met = trials_met(participant)
    _judge(participant, met, sent)
    if participant.stage != Stage.TRIAL:
        return participant, None
    try:
        return participant, show(participant, met, participant.position, sent.received_at)
    except NoItemLeftError:
        return participant, None


def _judge(participant: Participant, met: Sequence[Trial], sent: Sent) -> Judgment:
    trial = next((trial for trial in met if trial.token == sent.token), None)
    if trial is None and participant.stage != Stage.WITHDRAWN:
        raise ForeignTrialError
    if trial is None or trial.position != sent.position:
        raise WrongPageError
    if hasattr(trial, "judgment"):
        if trial.judgment.idempotency_key == sent.key:
            return trial.judgment
        raise AlreadyAnsweredError
    require(participant, Stage.TRIAL, sent.position)
    is_question = trial.stratum == QUESTION
    if is_question == (sent.written is None):
        raise ValueError("a written answer is to a question, and to nothing else")
    judgment = Judgment(
        trial=trial,
        idempotency_key=sent.key,
        correct=None if is_question else sent.answer.side == trial.original_side,
        received_at=sent.received_at,
        **asdict(sent.answer),
    )
    insert(judgment)
    if sent.written is not None:
        insert(WrittenAnswer(judgment=judgment, **asdict(sent.written)))
    now = sent.received_at
    if sent.position < participant.n_trials:
        advance(participant, Stage.TRIAL, now, sent.position + 1)
    else:
        advance(participant, Stage.DEBRIEF, now, sent.position)
        participant.debriefed_at = now
    update(participant, *FLOW_FIELDS, "debriefed_at")
    return judgment


@transaction.atomic
def finish(participant: Participant, *, cheated: bool, comments: str, now: datetime) -> Participant:
    """The debrief was sent: the session is complete. Sending the same again changes nothing."""
    participant = lock(participant)
    if participant.stage == Stage.FINISHED:
        if (participant.cheated, participant.comments) != (cheated, comments):
            raise AlreadySentError
        return participant
    require(participant, Stage.DEBRIEF)
    participant.cheated, participant.comments, participant.finished_at = cheated, comments, now
    advance(participant, Stage.FINISHED, now, participant.position)
    update(participant, *FLOW_FIELDS, "cheated", "comments", "finished_at")
    apply_exclusions(participant)
    return participant
