"""A participant answers a trial, and comes to the end."""

import uuid
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction

from experiment.models import Judgment, Participant, Trial
from experiment.services.exclusions import apply_exclusions
from experiment.services.flow import (
    AlreadyAnsweredError,
    AlreadySentError,
    ForeignTrialError,
    WrongPageError,
    advance,
    lock,
    require,
)

Stage = Participant.Stage


@dataclass(frozen=True, slots=True)
class Answer:
    """What a participant sends for one trial; None is "not given" or, for measures, "no JavaScript"."""

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


@transaction.atomic
def judge(
    participant: Participant,
    position: int,
    token: uuid.UUID,
    key: uuid.UUID,
    answer: Answer,
    now: datetime,
) -> Judgment:
    """Store an answer exactly once; the same key again returns what is stored."""
    participant = lock(participant)
    trial = Trial.objects.select_related("judgment").filter(token=token).first()
    if trial is None:
        raise WrongPageError
    if trial.participant_id != participant.pk:
        raise ForeignTrialError
    if trial.position != position:
        raise WrongPageError
    if hasattr(trial, "judgment"):
        if trial.judgment.idempotency_key == key:
            return trial.judgment
        raise AlreadyAnsweredError
    require(participant, Stage.TRIAL, position)
    judgment = Judgment.objects.create(
        trial=trial,
        idempotency_key=key,
        correct=answer.side == trial.original_side,
        received_at=now,
        **asdict(answer),
    )
    if position < participant.n_trials:
        advance(participant, Stage.TRIAL, now, position + 1)
    else:
        advance(participant, Stage.DEBRIEF, now, position)
        participant.debriefed_at = now
    participant.save()
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
    participant.save()
    apply_exclusions(participant)
    return participant
