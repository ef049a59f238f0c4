"""A study's participants by pseudonym, and what each of them did, page by page; nothing that says who they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from experiment.domain import assignment
from experiment.domain.assignment import DrawRecord
from experiment.domain.exclusion import FLAGS, PARTICIPANT_REASONS, TRIAL_REASONS, Reason
from experiment.models import ExcludedByHand, Item, Judgment, Participant, Study, Trial
from experiment.models.participants import ParticipantQuerySet
from experiment.services.stages import last_page
from lib.formatting import count, number
from lib.templatetags.numbers import clock

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
    NOT_ADMITTED = "not_admitted"  # their group was complete

    @property
    def is_unfinished(self) -> bool:
        return self in (Status.UNDER_WAY, Status.LEFT, Status.NOT_ADMITTED)

    @property
    def label(self) -> str:
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A selection of participants; what is empty does not narrow. `pseudonym`: how it begins. `after`: the last one seen."""

    kind: str
    status: Status | None = None
    reason: str = ""
    pseudonym: str = ""
    after: UUID | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """`status` is none of finished: valid or excluded is said instead."""

    person: Participant
    status: Status
    reasons: tuple[Reason, ...]
    n_flags: int

    @property
    def unit(self) -> str:
        """The unit to which the page says times."""
        return self.person.time_unit or "minute"

    @property
    def last_page(self) -> str:
        return last_page(self.person, self.person.position)

    @property
    def state(self) -> str:
        """With why a rule excludes the participant."""
        why = ", ".join(reason.label for reason in self.reasons)
        return f"{self.status.label}: {why}" if why else self.status.label

    @property
    def flags(self) -> str:
        return count(self.n_flags, "flag") if self.n_flags else ""


@dataclass(frozen=True, slots=True)
class People:
    lines: tuple[Line, ...]
    next_after: UUID | None


def people(study: Study, wanted: Wanted) -> People:
    """One page of them. An `after` that is nobody's begins at the newest."""
    found = Participant.objects.of(study, wanted.kind)
    if wanted.status is not None:
        found = _with_status(found, wanted.status)
    if wanted.reason:
        # The words of a column that holds codes joined by spaces
        word = rf"(^| ){re.escape(wanted.reason)}( |$)"
        found = found.exclude(excluded_by="").filter(excluded_by__regex=word)
    if wanted.pseudonym:
        found = found.beginning(wanted.pseudonym)
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
        "screened_out_at",
        "excluded_by",
        "flags",
        "is_anonymous",
    )
    rows = list(found.only(*columns).order_by("-pk")[: PAGE + 1])
    shown = rows[:PAGE]
    lines = []
    for person in shown:
        status = status_of(person)
        why = reasons(person.excluded_by) if status == Status.EXCLUDED else ()
        lines.append(Line(person, status, why, len(person.flags.split())))
    return People(tuple(lines), shown[-1].public_id if len(rows) > PAGE else None)


def _with_status(found: ParticipantQuerySet, status: Status) -> ParticipantQuerySet:
    match status:
        case Status.UNDER_WAY:
            return found.under_way().filter(screened_out_at=None)
        case Status.LEFT:
            return found.filter(left_at__isnull=False, screened_out_at=None)
        case Status.NOT_ADMITTED:
            ended = (Stage.FINISHED, Stage.WITHDRAWN)
            return found.filter(screened_out_at__isnull=False).exclude(stage__in=ended)
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
    if person.screened_out_at is not None:
        return Status.NOT_ADMITTED
    return Status.UNDER_WAY if person.left_at is None else Status.LEFT


def reasons(codes: str) -> tuple[Reason, ...]:
    """The rules and flags that a row's column names, in its order.

    >>> [reason.label for reason in reasons("missed_catch an_old_rule")]
    ['missed a catch trial', 'an_old_rule']
    """
    return tuple(_REASONS.get(code) or Reason(code, code, "") for code in codes.split())


@dataclass(frozen=True, slots=True)
class Event:
    """A page that was sent, or what became of the participant.

    `unit`: as `time_unit` of participants; seconds since consent are known where that is empty.
    """

    text: str
    at: datetime
    unit: str
    since_consent_s: float | None


@dataclass(frozen=True, slots=True)
class DrawnFrom:
    """Why an item was drawn: one of `n_tied` with the lowest score, when `n_before` of its stratum had been assigned.

    `names` are the tied ones that are kept, at most 48. `repeats`: that the record and the seed give the item again.
    """

    n_before: int
    n_tied: int
    names: tuple[str, ...]
    repeats: bool

    @property
    def tied(self) -> str:
        if self.n_tied == 1:
            return "the only one that was due"
        return f"one of {number(self.n_tied, 0)} that were due"

    @property
    def told(self) -> str:
        before = f"Test cases of this kind had been assigned {count(self.n_before, 'time')} before."
        record = "The stored record and the participant's seed"
        if self.repeats:
            return f"{before} {record} reproduce the same test case."
        return f"{before} {record} do not reproduce this test case: one of them was changed."

    @property
    def due(self) -> str:
        """Those among which it was drawn, as far as they are kept."""
        are_all = len(self.names) == self.n_tied
        those = "Those" if are_all else f"{len(self.names)} of those"
        return f"{those} that were due: {', '.join(self.names)}"


@dataclass(frozen=True, slots=True)
class TrialLine:
    """`answer`: None of a trial without one. `page_s` is the browser's time, or where it measured none the server's; None where nothing is known."""

    trial: Trial
    answer: Judgment | None
    since_consent_s: float | None
    page_s: float | None
    bar: float
    choice_s: float | None
    hidden_s: float | None
    reasons: tuple[Reason, ...]
    flags: tuple[Reason, ...]
    drawn: DrawnFrom | None

    @property
    def outcome(self) -> str:
        """The outcome of the trial; of checks alone, whether the answer was right: exclusions by hand must not go by the results."""
        if self.answer is None:
            return "not answered"
        if self.answer.correct is None:
            return "not scored as right or wrong"
        if self.trial.stratum == "catch":
            return "check passed" if self.answer.correct else "check missed"
        return "answered"

    @property
    def away(self) -> str:
        """How often the page lost focus, and how long it was hidden."""
        n = self.answer.blur_count if self.answer else 0
        parts = [f"{n}×"] if n else []  # noqa: RUF001
        parts += [f"hidden {clock(self.hidden_s)}"] if self.hidden_s else []
        return ", ".join(parts)

    @property
    def marks(self) -> str:
        """Why a rule excludes the trial, and its flags."""
        flags = (f"{flag.label} (flag)" for flag in self.flags)
        return ", ".join([*(reason.label for reason in self.reasons), *flags])


@dataclass(frozen=True, slots=True)
class Timeline:
    person: Participant
    status: Status
    reasons: tuple[Reason, ...]
    flags: tuple[Reason, ...]
    events: tuple[Event, ...]
    trials: tuple[TrialLine, ...]
    by_hand: ExcludedByHand | None = None

    @property
    def marked(self) -> str:
        """The heading over rules and flags; empty where there are none to be shown."""
        if self.reasons and self.status != Status.WITHDRAWN:
            return "Why this participant is excluded"
        return "Worth a look" if self.flags else ""

    @property
    def last_page(self) -> str:
        """Empty where the participant has come to an end."""
        return last_page(self.person, len(self.trials)) if self.status.is_unfinished else ""


# In the order in which they happen
EVENTS = (
    ("consented_at", "Agreed to take part"),
    ("demographics_at", "Answered the questions about themselves"),
    ("started_at", "Saw the first trial"),
    ("debriefed_at", "Answered the last trial"),
    ("finished_at", "Finished"),
    ("left_at", "Counted as having left"),
    ("withdrawn_at", "Withdrew; the answers were erased"),
)
COLUMNS = (
    "public_id",
    "kind",
    "stage",
    "is_anonymous",
    "policy",
    "seed",
    "plan",
    "arm",
    "practice_attempts",
    "last_seen_at",
    "excluded_by",
    "flags",
    *(column for column, _ in EVENTS),
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
    events = []
    for column, text in EVENTS:
        if (at := getattr(person, column)) is not None:
            if column == "started_at":
                text += f", after {count(person.practice_attempts, 'practice answer')}"
            unit = "" if column == "withdrawn_at" else person.time_unit
            events.append(Event(text, at, unit, _since(person, at)))
    by_hand = ExcludedByHand.objects.filter(participant=person).select_related("made_by")
    return Timeline(
        person=person,
        status=status_of(person),
        reasons=reasons(person.excluded_by),
        flags=reasons(person.flags),
        events=tuple(events),
        trials=_trials(person, trials),
        by_hand=by_hand.first(),
    )


def _since(person: Participant, at: datetime | None) -> float | None:
    if at is None or person.consented_at is None or person.time_unit:
        return None
    return (at - person.consented_at).total_seconds()


def _trials(person: Participant, trials: Sequence[Trial]) -> tuple[TrialLine, ...]:
    records = {t.position: DrawRecord.unpack(bytes(t.draw)) for t in trials if t.draw}
    tied = {pk for record in records.values() for pk in record.window}
    names = {item.pk: str(item) for item in Item.objects.filter(pk__in=tied).only("key", "version")}
    answers = [getattr(trial, "judgment", None) for trial in trials]
    longest_ms = max((answer.timed_ms or 0 for answer in answers if answer), default=0)
    lines = []
    for trial, answer in zip(trials, answers, strict=True):
        record, ms = records.get(trial.position), answer and answer.timed_ms
        drawn = None
        if record is not None:
            key = assignment.rng_key(person.seed, "draw", trial.position)
            window = tuple(names.get(pk, str(pk)) for pk in record.window)
            repeats = record.item_id(key) == trial.item_id
            drawn = DrawnFrom(record.n_before, record.n_tied, window, repeats)
        lines.append(
            TrialLine(
                trial,
                answer,
                since_consent_s=_since(person, trial.shown_at),
                page_s=_seconds(ms),
                bar=100 * (ms or 0) / longest_ms if longest_ms else 0.0,
                choice_s=_seconds(answer and answer.rt_choice_ms),
                hidden_s=_seconds(answer and answer.hidden_ms),
                reasons=reasons(answer.excluded_by) if answer else (),
                flags=reasons(answer.flags) if answer else (),
                drawn=drawn,
            )
        )
    return tuple(lines)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
