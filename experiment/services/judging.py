"""A participant answers a trial, and comes to the end."""

import uuid
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction

from experiment.domain import exclusion
from experiment.models import Judgment, Participant, Study, Trial
from experiment.models.participants import ParticipantQuerySet
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


@dataclass(frozen=True, slots=True)
class Changed:
    """How many participants and trials are excluded, included or excluded for other reasons than before."""

    participants: int
    trials: int


def apply_exclusions(participant: Participant) -> Changed:
    """Decide which rules the participant and their trials fall under, and store the reasons."""
    judgments = list(
        Judgment.objects.filter(trial__participant=participant).select_related("trial")
    )
    same_id = _same_external_id(participant)
    facts = _facts(participant, judgments, shares_external_id=same_id.exists())
    verdict = exclusion.judge_participant(facts, participant.study.exclusion_rules)
    before, participant.excluded_by = participant.excluded_by, " ".join(verdict.participant)
    participant.flags = " ".join(verdict.participant_flags)
    participant.save(update_fields=["excluded_by", "flags"])
    # The first participant was not flagged: the second came later.
    same_id.finished().update(flags=exclusion.DUPLICATE_EXTERNAL_ID.code)
    n_trials = 0
    for judgment in judgments:
        reasons, flags = (
            " ".join(v[judgment.trial_id]) for v in (verdict.trials, verdict.trial_flags)
        )
        n_trials += reasons != judgment.excluded_by
        if (reasons, flags) != (judgment.excluded_by, judgment.flags):
            judgment.excluded_by, judgment.flags = reasons, flags
            judgment.save(update_fields=["excluded_by", "flags"])
    return Changed(int(participant.excluded_by != before), n_trials)


@transaction.atomic
def reapply_exclusions(study: Study) -> Changed:
    """Decide again for all who finished, after the study's rules changed.

    Imported participants keep what their publication decided.
    """
    finished = study.participants.finished().exclude(kind=Participant.Kind.IMPORTED)
    people = finished.select_related("study").select_for_update(of=("self",), no_key=True)
    changes = [apply_exclusions(participant) for participant in people]
    return Changed(sum(c.participants for c in changes), sum(c.trials for c in changes))


def _same_external_id(participant: Participant) -> ParticipantQuerySet:
    """Others of the same kind who came to the study under the same id."""
    others = Participant.objects.of(participant.study, participant.kind).exclude(pk=participant.pk)
    if not participant.external_id:
        return others.none()
    source, external_id = participant.external_source, participant.external_id
    return others.filter(external_source=source, external_id=external_id)


def _facts(
    participant: Participant, judgments: list[Judgment], *, shares_external_id: bool
) -> exclusion.ParticipantFacts:
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
        participant.stage == Stage.FINISHED, participant.cheated, trials, shares_external_id
    )
