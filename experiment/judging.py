"""Use case: a participant answers a trial, and comes to the end."""

import uuid
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction

from experiment.domain import exclusion
from experiment.flow import (
    AlreadyAnsweredError,
    AlreadySentError,
    ForeignTrialError,
    WrongPageError,
    advance,
    lock,
    require,
)
from experiment.models import Judgment, Participant, Study, Trial

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
    rt_ms: int | None = None
    changes: int | None = None
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


def apply_exclusions(participant: Participant) -> None:
    """Decide which rules the participant and their trials fall under, and store the reasons."""
    judgments = list(
        Judgment.objects.filter(trial__participant=participant).select_related("trial")
    )
    verdict = exclusion.judge_participant(
        _facts(participant, judgments), participant.study.exclusion_rules
    )
    participant.excluded_by = " ".join(verdict.participant)
    participant.flags = " ".join(verdict.participant_flags)
    participant.save(update_fields=["excluded_by", "flags"])
    for judgment in judgments:
        reasons, flags = (
            " ".join(v[judgment.trial_id]) for v in (verdict.trials, verdict.trial_flags)
        )
        if (reasons, flags) != (judgment.excluded_by, judgment.flags):
            judgment.excluded_by, judgment.flags = reasons, flags
            judgment.save(update_fields=["excluded_by", "flags"])


@transaction.atomic
def reapply_exclusions(study: Study) -> int:
    """Decide again for all who finished, after the study's rules changed; returns how many changed.

    Imported participants keep what their publication decided.
    """
    finished = (
        study.participants.finished()
        .exclude(kind=Participant.Kind.IMPORTED)
        .select_related("study")
    )
    changed = 0
    for participant in finished.select_for_update(of=("self",), no_key=True):
        before = participant.excluded_by
        apply_exclusions(participant)
        changed += participant.excluded_by != before
    return changed


def _facts(participant: Participant, judgments: list[Judgment]) -> exclusion.ParticipantFacts:
    shares = bool(participant.external_id) and (
        participant.study.participants.filter(
            external_source=participant.external_source, external_id=participant.external_id
        )
        .exclude(pk=participant.pk)
        .exists()
    )
    trials = [
        exclusion.TrialFacts(
            trial_id=judgment.trial_id,
            stratum=judgment.trial.stratum,
            correct=judgment.correct,
            recognised=bool(judgment.recognised),
            rt_ms=judgment.timed_ms,
            moved_a_slider=judgment.confidence_moved or judgment.expertise_moved,
            hidden_ms=judgment.hidden_ms,
        )
        for judgment in judgments
    ]
    return exclusion.ParticipantFacts(
        participant.stage == Stage.FINISHED, participant.cheated, trials, shares
    )
