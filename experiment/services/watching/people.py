"""A study's participants by pseudonym, newest first, a page at a time; as quick in a study of any size."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from experiment.domain.exclusion import FLAGS, PARTICIPANT_REASONS, TRIAL_REASONS, Reason
from experiment.models import Participant, Study
from experiment.models.participants import ParticipantQuerySet

Stage = Participant.Stage
PAGE = 50
_REASONS = {reason.code: reason for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS, *FLAGS)}


class Status(StrEnum):
    UNDER_WAY = "under_way"
    LEFT = "left"
    FINISHED = "finished"
    VALID = "valid"
    EXCLUDED = "excluded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which participants; what is empty does not narrow. `pseudonym`: how it begins. `after`: the last one seen."""

    kind: str
    status: Status | None = None
    reason: str = ""
    pseudonym: str = ""
    after: UUID | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """`position`: the trial that they are or were on. `status` is none of finished: valid or excluded is said instead."""

    public_id: UUID
    status: Status
    stage: str
    position: int | None
    n_trials: int
    started_at: datetime | None
    last_seen_at: datetime | None
    reasons: tuple[Reason, ...]
    n_flags: int


@dataclass(frozen=True, slots=True)
class People:
    lines: tuple[Line, ...]
    next_after: UUID | None


def people(study: Study, wanted: Wanted) -> People:
    """One page of them. An `after` that is nobody's begins at the newest."""
    found = _narrowed(Participant.objects.of(study, wanted.kind), wanted)
    if wanted.after is not None:
        last = Participant.objects.filter(study=study, public_id=wanted.after).values_list("pk")
        if (row := last.first()) is not None:
            found = found.filter(pk__lt=row[0])
    columns = (
        "public_id",
        "stage",
        "position",
        "plan",
        "consented_at",
        "last_seen_at",
        "left_at",
        "excluded_by",
        "flags",
    )
    rows = list(found.only(*columns).order_by("-pk")[: PAGE + 1])
    shown = rows[:PAGE]
    return People(
        tuple(_line(person) for person in shown),
        shown[-1].public_id if len(rows) > PAGE else None,
    )


def _narrowed(found: ParticipantQuerySet, wanted: Wanted) -> ParticipantQuerySet:
    if wanted.status is not None:
        found = _with_status(found, wanted.status)
    if wanted.reason:
        # The words of a column that holds codes joined by spaces
        found = found.exclude(excluded_by="").filter(
            excluded_by__regex=rf"(^| ){re.escape(wanted.reason)}( |$)"
        )
    if wanted.pseudonym:
        begin = wanted.pseudonym.replace("-", "")
        low, high = UUID(begin.ljust(32, "0")), UUID(begin.ljust(32, "f"))
        found = found.filter(public_id__range=(low, high))
    return found


def _with_status(found: ParticipantQuerySet, status: Status) -> ParticipantQuerySet:
    match status:
        case Status.UNDER_WAY:
            return found.under_way()
        case Status.LEFT:
            return found.filter(left_at__isnull=False)
        case Status.FINISHED:
            return found.finished()
        case Status.VALID:
            return found.valid()
        case Status.EXCLUDED:
            return found.finished().exclude(excluded_by="")
        case Status.WITHDRAWN:
            return found.exclude(excluded_by="").filter(stage=Stage.WITHDRAWN)


def status_of(person: Participant) -> Status:
    if person.stage == Stage.WITHDRAWN:
        return Status.WITHDRAWN
    if person.stage == Stage.FINISHED:
        return Status.EXCLUDED if person.excluded_by else Status.VALID
    return Status.UNDER_WAY if person.left_at is None else Status.LEFT


def reasons(codes: str) -> tuple[Reason, ...]:
    """The rules and flags that a row's column names, in its order.

    >>> [reason.label for reason in reasons("missed_catch an_old_rule")]
    ['missed a catch trial', 'an_old_rule']
    """
    return tuple(_REASONS.get(code) or Reason(code, code, "") for code in codes.split())


def _line(person: Participant) -> Line:
    status = status_of(person)
    return Line(
        public_id=person.public_id,
        status=status,
        stage=person.stage,
        position=person.position if person.stage == Stage.TRIAL else None,
        n_trials=person.n_trials,
        started_at=person.consented_at,
        last_seen_at=person.last_seen_at,
        reasons=reasons(person.excluded_by) if status == Status.EXCLUDED else (),
        n_flags=len(person.flags.split()),
    )
