"""Payments that are owed, lists of them, and the IDs that are kept of those who withdraw. Nobody is in two lists for one reason."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from experiment.domain.pay import CREDITS, NOTHING, RIGHT, Pay
from experiment.domain.paying import (
    LISTS,
    Act,
    File,
    Listed,
    Proposal,
    Reason,
    State,
    file_of,
    propose,
)
from experiment.domain.survey import CHECKS
from experiment.models import (
    Channel,
    Judgment,
    Participant,
    PaymentBatch,
    PaymentLine,
    RecruitmentRecord,
    Study,
    SurveyAnswer,
)
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.people import reasons

PAID = (Participant.Kind.REAL, Participant.Kind.PILOT)  # pilots of a recruitment site are paid, too
FINISHED = Participant.Stage.FINISHED
TEST_STRATA = ("human", "machine")
NO_IDS = {"external_id": "", "external_study_id": "", "external_session_id": ""}
SOON = timedelta(days=7)
Who = tuple[str, str]  # whose ID, and the ID


class Promises:
    """The promises to participants of a study: by the version under which they agreed."""

    def __init__(self, study: Study) -> None:
        versions = study.versions.order_by("number")
        self.versions = list(versions.values_list("created_at", "pay"))
        self.now = study.pay

    def of(self, person: Participant) -> Pay:
        if not self.versions or person.consented_at is None:
            return self.now
        held = [pay for since, pay in self.versions if since <= person.consented_at]
        return Pay.from_dict(held[-1] if held else self.versions[0][1])


def bonus_of(person: Participant, n_right: int) -> tuple[Pay, Decimal]:
    """The promise to a participant, and the bonus that they earn with so many right test trials."""
    promised = person.study.pay if person.pk is None else Promises(person.study).of(person)
    return promised, promised.earned(n_right)


@dataclass(frozen=True, slots=True)
class Paid:
    """A line of a list, as the page shows it; `batch` is the list's number."""

    reason: Reason
    amount: Decimal
    unit: str
    batch: int


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who came with an ID, over all of their participations; `due`: what they are in no list for yet.

    pseudonyms: of their participations, the oldest first; none of those who withdrew. owed: lines that wait since a withdrawal.
    """

    channel: str
    platform: str
    record: Listed
    source: str
    until: date | None
    participant: int | None
    pseudonyms: tuple[str, ...]
    state: State
    excluded: str
    proposal: Proposal
    unit: str
    due: Mapping[Reason, Decimal]
    owed: Mapping[Reason, PaymentLine]
    paid: tuple[Paid, ...]

    @property
    def is_refused(self) -> bool:
        """True if they are on a list of refusals and on none of payments since."""
        reasons_paid = {line.reason for line in self.paid}
        return Reason.REFUSED in reasons_paid and Reason.FINISHED not in reasons_paid

    @property
    def total_due(self) -> Decimal:
        return sum(self.due.values(), NOTHING)

    def is_for(self, reason: Reason) -> bool:
        """True if a new list for this reason has them."""
        if reason == Reason.REFUSED:
            return self.proposal.act == Act.REFUSE and Reason.FINISHED in self.due
        return reason in self.due


def payable(study: Study, now: datetime) -> list[Person]:
    """Everybody with an ID that is kept, the first who came first."""
    lines = list(PaymentLine.objects.filter(study=study).select_related("batch").order_by("pk"))
    records = RecruitmentRecord.objects.filter(study=study, participant__kind__in=PAID)
    groups: dict[Who, list[RecruitmentRecord]] = {}
    for record in records.select_related("participant").order_by("participant"):
        groups.setdefault((record.source, record.external_id), []).append(record)
    by_who: dict[Who, list[PaymentLine]] = defaultdict(list)
    by_participant: dict[int, list[PaymentLine]] = defaultdict(list)
    for line in lines:
        if line.participant_id is not None:
            by_participant[line.participant_id].append(line)
        elif line.external_id:
            by_who[line.source, line.external_id].append(line)
    facts = _Facts.of(study, now)
    found = [
        _person(
            facts,
            of_one,
            [
                *by_who.pop(who, []),
                *(x for r in of_one for x in by_participant[r.participant_id]),
            ],
        )
        for who, of_one in groups.items()
    ]
    return found + [_withdrawn(facts, of_one) for of_one in by_who.values()]


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts that the proposals follow from; `n_right` and `n_missed` by participant."""

    live_since: datetime
    promises: Promises
    platforms: Mapping[str, str]
    n_right: Mapping[int, int]
    n_missed: Mapping[int, int]

    @classmethod
    def of(cls, study: Study, now: datetime) -> "_Facts":
        promises = Promises(study)
        has_right = RIGHT in {study.pay.bonus, *(pay.get("bonus") for _, pay in promises.versions)}
        right = Judgment.objects.filter(
            trial__participant__study=study, trial__stratum__in=TEST_STRATA, correct=True
        )
        counted = right.order_by().values_list("trial__participant").annotate(Count("pk"))
        checks = SurveyAnswer.objects.filter(participant__study=study, question__kind__in=CHECKS)
        n_missed: dict[int, int] = defaultdict(int)
        for pk, value, parts in checks.values_list("participant", "value", "question__parts"):
            n_missed[pk] += value != parts["correct"]
        platforms = dict(study.channels.values_list("code", "platform"))
        n_right = dict(counted) if has_right else {}
        return cls(study.live_since(now), promises, platforms, n_right, n_missed)

    def platform(self, channel: str) -> str:
        """That of the channel; links without a channel name the platform itself."""
        return self.platforms.get(channel, channel)

    def owed(self, person: Participant, platform: str) -> tuple[str, dict[Reason, Decimal]]:
        """The unit, and what this participation earns by the promise."""
        promised = self.promises.of(person)
        if platform == Channel.Platform.SONA:
            is_finished = person.stage == FINISHED
            return CREDITS, {Reason.FINISHED: promised.credits} if is_finished else {}
        if person.stage == FINISHED:
            earned = {Reason.FINISHED: promised.base}
            if bonus := promised.earned(self.n_right.get(person.pk, 0)):
                earned[Reason.BONUS] = bonus
            return promised.currency, earned
        is_part = person.screened_out_at is not None and promised.screened_out
        return promised.currency, {Reason.SCREENED_OUT: promised.screened_out} if is_part else {}


def _person(
    facts: _Facts, records: Sequence[RecruitmentRecord], lines: Sequence[PaymentLine]
) -> Person:
    """One person by all records under their ID, and the lines that they are on already."""
    of_stage = (
        (State.FINISHED, [r for r in records if r.participant.stage == FINISHED]),
        (State.SCREENED_OUT, [r for r in records if r.participant.screened_out_at is not None]),
        (State.UNDER_WAY, [r for r in records if _is_here(r.participant, facts.live_since)]),
        (State.STOPPED, list(records)),
    )
    state, chosen = next((state, found[0]) for state, found in of_stage if found)
    person = chosen.participant
    platform = facts.platform(person.external_source)
    unit, earned = facts.owed(person, platform)
    owed = {Reason(line.reason): line for line in lines if line.batch_id is None}
    listed = {Reason(line.reason) for line in lines}
    if Reason.FINISHED in listed:  # whoever finished is not owed the part as well
        earned.pop(Reason.SCREENED_OUT, None)
    is_refused = Reason.REFUSED in listed and Reason.FINISHED not in listed
    new = {reason: amount for reason, amount in earned.items() if reason not in listed}
    due = {reason: line.amount for reason, line in owed.items()} | ({} if is_refused else new)
    excluded = ", ".join(reason.label for reason in reasons(person.excluded_by))
    return Person(
        channel=person.external_source,
        platform=platform,
        record=_listed(chosen),
        source=chosen.source,
        until=chosen.until,
        participant=person.pk,
        pseudonyms=tuple(record.participant.pseudonym for record in records),
        state=state,
        excluded=excluded if state == State.FINISHED else "",
        proposal=propose(
            platform,
            state,
            n_missed_checks=facts.n_missed.get(person.pk, 0),
            excluded=excluded,
            part=earned.get(Reason.SCREENED_OUT, NOTHING),
        ),
        unit=unit,
        due=due,
        owed=owed,
        paid=_paid(lines),
    )


def _withdrawn(facts: _Facts, lines: Sequence[PaymentLine]) -> Person:
    """Somebody of whom only lines are left."""
    line = lines[0]
    owed = {Reason(each.reason): each for each in lines if each.batch_id is None}
    platform = facts.platform(line.channel)
    nothing = {"n_missed_checks": 0, "excluded": "", "part": NOTHING}
    return Person(
        channel=line.channel,
        platform=platform,
        record=_listed(line),
        source=line.source,
        until=line.until,
        participant=None,
        pseudonyms=(),
        state=State.WITHDREW,
        excluded="",
        proposal=propose(platform, State.WITHDREW, **nothing),  # type: ignore[arg-type]
        unit=line.unit,
        due={reason: each.amount for reason, each in owed.items()},
        owed=owed,
        paid=_paid(lines),
    )


def _is_here(person: Participant, live_since: datetime) -> bool:
    seen = person.last_seen_at
    return not person.has_ended and seen is not None and seen >= live_since


def _listed(row: RecruitmentRecord | PaymentLine) -> Listed:
    ids = (row.external_id, row.external_study_id, row.external_session_id)
    amount, note = (row.amount, row.note) if isinstance(row, PaymentLine) else (NOTHING, "")
    return Listed(*ids, amount, note)


def _paid(lines: Iterable[PaymentLine]) -> tuple[Paid, ...]:
    return tuple(
        Paid(Reason(line.reason), line.amount, line.unit, line.batch.number)
        for line in lines
        if line.batch is not None
    )


@transaction.atomic
def make_list(
    study: Study,
    channel: str,
    reason: Reason,
    now: datetime,
    *,
    by: User | None,
    overturns: bool = False,
) -> PaymentBatch:
    """A new list of those of a channel who are on none for this reason yet.

    overturns: pay those whose submissions were to be refused after all, and nobody else.

    Raises:
        ValidationError: there is nobody for it.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    people = [person for person in payable(study, now) if person.channel == channel]
    chosen = [person for person in people if _is_chosen(person, reason, overturns=overturns)]
    if not chosen:
        raise ValidationError("Everybody is already on a list for this.")
    number = study.payment_batches.aggregate(last=Max("number"))["last"] or 0
    batch = PaymentBatch.objects.create(
        study=study,
        number=number + 1,
        channel=channel,
        platform=chosen[0].platform,
        reason=reason,
        made_at=now,
        made_by=by,
    )
    facts = _Facts.of(study, now)
    waiting = [person.owed[reason].pk for person in chosen if reason in person.owed]
    PaymentLine.objects.filter(pk__in=waiting).update(batch=batch)
    new = [_line(facts, study, batch, p, reason) for p in chosen if reason not in p.owed]
    PaymentLine.objects.bulk_create(new)
    audit.record(
        Action.PAYMENTS_LISTED,
        by=by,
        study=study,
        number=batch.number,
        channel=channel,
        of=LISTS[reason],
        people=len(chosen),
        total={unit: str(total) for unit, total in totals(batch.lines.all()).items()},
    )
    return batch


def _is_chosen(person: Person, reason: Reason, *, overturns: bool) -> bool:
    return person.is_refused if overturns else person.is_for(reason)


def _line(
    facts: _Facts, study: Study, batch: PaymentBatch, person: Person, reason: Reason
) -> PaymentLine:
    amount = person.due.get(reason, NOTHING)
    if reason == Reason.FINISHED and person.is_refused:  # they are owed it after all
        _unit, earned = facts.owed(
            Participant.objects.get(pk=person.participant or 0), person.platform
        )
        amount = earned[reason]
    return PaymentLine(
        study=study,
        batch=batch,
        participant_id=person.participant,
        channel=person.channel,
        source=person.source,
        external_id=person.record.external_id,
        external_study_id=person.record.study_id,
        external_session_id=person.record.session_id,
        until=person.until,
        reason=reason,
        amount=NOTHING if reason == Reason.REFUSED else amount,
        unit=person.unit,
        note=person.proposal.reason if reason == Reason.REFUSED else "",
    )


def totals(lines: Iterable[PaymentLine]) -> dict[str, Decimal]:
    """By currency."""
    found: dict[str, Decimal] = {}
    for line in lines:
        found[line.unit] = found.get(line.unit, NOTHING) + line.amount
    return found


def download(batch: PaymentBatch, *, by: User) -> File:
    """The list's file, the same each time as long as its IDs are kept."""
    lines = batch.lines.exclude(external_id="").order_by("pk")
    file = file_of(batch.platform, Reason(batch.reason), [_listed(line) for line in lines])
    audit.record(Action.PAYMENTS_DOWNLOADED, by=by, study=batch.study, number=batch.number)
    return file


def keep_promise(person: Participant, study: Study) -> None:
    """Before a locked participant's data are erased: keep their ID, apart from them, as long as they are owed what was promised."""
    own = PaymentLine.objects.filter(participant=person)
    record = RecruitmentRecord.objects.filter(participant=person).first()
    if record is None or not keeps_id(person):  # a study that promises nothing keeps no ID
        own.update(participant=None, **NO_IDS)
        return
    same = PaymentLine.objects.filter(
        study=study, source=record.source, external_id=record.external_id
    )
    listed = set((same | own).values_list("reason", flat=True))
    facts = _Facts.of(study, timezone.now())
    unit, earned = facts.owed(person, facts.platform(person.external_source))
    own.update(participant=None)
    if Reason.REFUSED in listed and Reason.FINISHED not in listed:
        return
    finished = RecruitmentRecord.objects.of_same(record).filter(participant__stage=FINISHED)
    if Reason.FINISHED in listed or finished.exists():
        earned.pop(Reason.SCREENED_OUT, None)
    PaymentLine.objects.bulk_create(
        PaymentLine(
            study=study,
            channel=person.external_source,
            source=record.source,
            external_id=record.external_id,
            external_study_id=record.external_study_id,
            external_session_id=record.external_session_id,
            until=record.until,
            reason=reason,
            amount=amount,
            unit=unit,
        )
        for reason, amount in earned.items()
        if amount and reason not in listed
    )


def keeps_id(person: Participant) -> bool:
    """True if their ID is kept for the payment when they withdraw now."""
    if not hasattr(person, "recruitment"):
        return False
    is_owed = person.stage == FINISHED or person.screened_out_at is not None
    is_paid = person.kind in PAID and bool(person.external_source)
    return is_owed and is_paid and Promises(person.study).of(person).is_any


def forget_ids_of(people: Iterable[Participant]) -> None:
    """Erase their recruitment IDs from lists; amounts stay."""
    PaymentLine.objects.filter(participant__in=people).update(**NO_IDS)


PROMISES = (
    Q(pay_base__gt=0) | Q(pay_screened_out__gt=0) | ~Q(pay_bonus="none") | Q(pay_credits__gt=0)
)


def n_unpaid_soon(study: Study, now: datetime) -> int:
    """How many are owed money whose IDs are about to be forgotten, so that nobody could pay them any more."""
    last = (now + SOON).date()
    is_all = study.retain_until is not None and study.retain_until <= last
    kept = (RecruitmentRecord.objects.filter(study=study), study.payment_lines.filter(batch=None))
    if not is_all and not any(rows.filter(until__lte=last).exists() for rows in kept):
        return 0
    return sum(
        person.total_due > 0 and (is_all or (person.until is not None and person.until <= last))
        for person in payable(study, now)
    )
