"""What one participant did, page by page, and why they were given which test case; nothing that says who they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from experiment.domain import assignment
from experiment.domain.draw_record import DrawRecord
from experiment.domain.exclusion import Reason
from experiment.models import Item, Participant, Study, Trial
from experiment.services.watching.people import Status, reasons, status_of


@dataclass(frozen=True, slots=True)
class Event:
    """A page that was sent, or what became of the participant; `what` is worded by the page."""

    what: str
    at: datetime
    since_consent_s: float


@dataclass(frozen=True, slots=True)
class DrawnFrom:
    """Why an item was drawn: one of `n_tied` with the lowest score, when `n_before` of its stratum had been assigned.

    `names` are the tied ones that are kept, at most 48. `repeats`: that the record and the seed give the item again.
    """

    n_before: int
    n_tied: int
    names: tuple[str, ...]
    repeats: bool


@dataclass(frozen=True, slots=True)
class TrialLine:
    """`page_s` is the browser's time, or where it measured none the server's; None where nothing is known."""

    position: int
    stratum: str
    item: str
    since_consent_s: float | None
    is_answered: bool
    page_s: float | None = None
    bar: float = 0.0
    choice_s: float | None = None
    correct: bool | None = None
    confidence: int | None = None
    expertise: int | None = None
    reloads: int | None = None
    blurs: int | None = None
    hidden_s: float | None = None
    reasons: tuple[Reason, ...] = ()
    flags: tuple[Reason, ...] = ()
    drawn: DrawnFrom | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    public_id: UUID
    kind: str
    status: Status
    stage: str
    policy: str
    n_trials: int
    practice_attempts: int
    last_seen_at: datetime | None
    reasons: tuple[Reason, ...]
    flags: tuple[Reason, ...]
    events: tuple[Event, ...]
    trials: tuple[TrialLine, ...]


# In the order in which they happen
EVENTS = (
    ("consented", "consented_at"),
    ("described", "demographics_at"),
    ("started", "started_at"),
    ("debriefed", "debriefed_at"),
    ("finished", "finished_at"),
    ("left", "left_at"),
    ("withdrawn", "withdrawn_at"),
)
COLUMNS = (
    "public_id",
    "kind",
    "stage",
    "policy",
    "seed",
    "plan",
    "practice_attempts",
    "last_seen_at",
    "excluded_by",
    "flags",
    *(column for _, column in EVENTS),
)


def timeline(study: Study, public_id: UUID) -> Timeline | None:
    """None where the study has no such participant."""
    people = Participant.objects.filter(study=study, public_id=public_id).only(*COLUMNS)
    person = people.first()
    if person is None:
        return None
    trials = list(
        Trial.objects.filter(participant=person)
        .select_related("item", "judgment")
        .defer("item__markup", "judgment__source_record")
        .order_by("position")
    )
    return Timeline(
        public_id=person.public_id,
        kind=person.kind,
        status=status_of(person),
        stage=person.stage,
        policy=person.policy,
        n_trials=person.n_trials,
        practice_attempts=person.practice_attempts,
        last_seen_at=person.last_seen_at,
        reasons=reasons(person.excluded_by),
        flags=reasons(person.flags),
        events=_events(person),
        trials=_trials(person, trials),
    )


def _events(person: Participant) -> tuple[Event, ...]:
    times = [(what, getattr(person, column)) for what, column in EVENTS]
    return tuple(Event(what, at, _since(person, at) or 0.0) for what, at in times if at is not None)


def _since(person: Participant, at: datetime | None) -> float | None:
    if at is None or person.consented_at is None:
        return None
    return (at - person.consented_at).total_seconds()


def _trials(person: Participant, trials: Sequence[Trial]) -> tuple[TrialLine, ...]:
    records = {t.position: DrawRecord.unpack(bytes(t.draw)) for t in trials if t.draw}
    tied = {pk for record in records.values() for pk in record.window}
    names = {item.pk: str(item) for item in Item.objects.filter(pk__in=tied).only("key", "version")}
    timed = [t.judgment.timed_ms for t in trials if hasattr(t, "judgment") and t.judgment.timed_ms]
    longest_ms = max(timed, default=0)
    lines = []
    for trial in trials:
        record = records.get(trial.position)
        drawn = _drawn_from(person, trial, record, names) if record is not None else None
        lines.append(_line(person, trial, drawn, longest_ms))
    return tuple(lines)


def _drawn_from(
    person: Participant, trial: Trial, record: DrawRecord, names: Mapping[int, str]
) -> DrawnFrom:
    key = assignment.rng_key(person.seed, "draw", trial.position)
    return DrawnFrom(
        n_before=record.n_before,
        n_tied=record.n_tied,
        names=tuple(names.get(pk, str(pk)) for pk in record.window),
        repeats=record.item_id(key) == trial.item_id,
    )


def _line(person: Participant, trial: Trial, drawn: DrawnFrom | None, longest_ms: int) -> TrialLine:
    since = _since(person, trial.shown_at)
    if not hasattr(trial, "judgment"):
        return TrialLine(
            trial.position, trial.stratum, str(trial.item), since, is_answered=False, drawn=drawn
        )
    answer = trial.judgment
    ms = answer.timed_ms
    return TrialLine(
        position=trial.position,
        stratum=trial.stratum,
        item=str(trial.item),
        since_consent_s=since,
        is_answered=True,
        page_s=_seconds(ms),
        bar=100 * (ms or 0) / longest_ms if longest_ms else 0.0,
        choice_s=_seconds(answer.rt_choice_ms),
        correct=answer.correct,
        confidence=answer.confidence,
        expertise=answer.expertise,
        reloads=answer.reloads,
        blurs=answer.blur_count,
        hidden_s=_seconds(answer.hidden_ms),
        reasons=reasons(answer.excluded_by),
        flags=reasons(answer.flags),
        drawn=drawn,
    )


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
