"""Keeps the counters of models/counts.py true. Whoever changes what they count says so here, in the same transaction.

A participant who is settled (finished, withdrawn, or left as far as is known) is counted; one under way is not, and
is read from the rows, of which there are few. `assigned` alone counts everybody's trials.

Locks are taken in this order: participants, the study's revision, its items' counts. A draw takes that of one item.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import F, QuerySet

from experiment.domain.assignment import QUESTION
from experiment.domain.exclusion import believed_ms
from experiment.models import (
    DataRevision,
    Item,
    ItemCount,
    Judgment,
    Participant,
    PeopleCount,
    Study,
)
from lib.fast.prepared import Prepared

Fate, Stage = PeopleCount.Fate, Participant.Stage
MOST_SWEPT = 500
Key = TypeVar("Key")
Change = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """A way to be settled, as PeopleCount tells them apart."""

    fate: str
    page: int
    excluded_by: str = ""
    arm_number: int = 0

    @classmethod
    def of(cls, person: Participant) -> "Ending":
        excluded_by, arm_number = "", person.arm_number
        if person.stage == Stage.FINISHED:
            fate, excluded_by = Fate.FINISHED, person.excluded_by
        elif person.stage == Stage.WITHDRAWN:
            fate = Fate.WITHDRAWN if person.finished_at is None else Fate.WITHDRAWN_FINISHED
        else:
            fate = Fate.LEFT
        return cls(fate, person.page_reached, excluded_by, arm_number)


class ItemOfArm(NamedTuple):
    arm_number: int
    item_id: int


@dataclass
class Difference:
    """Changes of the counters of one study and kind; nothing is written before `write`."""

    people: dict[Ending, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    items: dict[ItemOfArm, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(
        self, person: Participant, judgments: Iterable[Judgment], min_rt_ms: int, sign: int = 1
    ) -> None:
        """Count a settled participant, as they are; with sign -1, no longer."""
        own = list(judgments)
        is_finished = person.stage == Stage.FINISHED
        facts = {"n": 1} | (readings(own, min_rt_ms) if is_finished else {})
        for name, n in facts.items():
            self.people[Ending.of(person)][name] += sign * n
        for judgment in own:
            counts = self.items[ItemOfArm(person.arm_number, judgment.trial.item_id)]
            counts["judged"] += sign
            if is_finished and not person.excluded_by and not judgment.excluded_by:
                counts["valid"] += sign

    def forget_trials(self, person: Participant, item_ids: Iterable[int]) -> None:
        """Trials of theirs that are deleted."""
        for item in item_ids:
            self.items[ItemOfArm(person.arm_number, item)]["assigned"] -= 1

    def write(self, study: Study, kind: str) -> None:
        raise_revision(study, kind)
        for change, items in _alike(self.items).items():
            for arm_number in sorted({item.arm_number for item in items}):
                ids = {item.item_id for item in items if item.arm_number == arm_number}
                of_arm = ItemCount.objects.filter(study=study, kind=kind, arm_number=arm_number)
                raised = {name: F(name) + n for name, n in change}
                if of_arm.filter(item__in=ids).update(**raised) < len(ids):
                    # Some were never counted in this arm
                    known = of_arm.filter(item__in=ids).values_list("item", flat=True)
                    missing = ids.difference(known)
                    ensure_item_counts(study, kind, missing, arm_number)
                    of_arm.filter(item__in=missing).update(**raised)
        for change, endings in _alike(self.people).items():
            for ending in endings:
                key = asdict(ending) | {"study": study, "kind": kind}
                raised = {name: F(name) + n for name, n in change}
                if not PeopleCount.objects.filter(**key).update(**raised):
                    PeopleCount.objects.create(**key, **dict(change))


def settle(person: Participant, judgments: Iterable[Judgment], study: Study) -> None:
    """This participant's end is known now."""
    difference = Difference()
    difference.add(person, judgments, study.fast_limit_ms)
    difference.write(study, person.kind)


def come_back(person: Participant) -> None:
    """Counts a participant as present again who was taken for having left; their row is locked."""
    difference = Difference()
    difference.add(person, judged_by([person]), person.study.fast_limit_ms, sign=-1)
    difference.write(person.study, person.kind)
    person.left_at = None
    Participant.objects.filter(pk=person.pk).update(left_at=None)


@transaction.atomic
def sweep(study: Study, kind: str, now: datetime) -> int:
    """Take for left who has been silent for the study's `live_minutes`; how many these were."""
    silent = Participant.objects.of(study, kind).silent(study, now)
    # Who is answering at this moment is locked, and not silent
    locked = silent.select_for_update(skip_locked=True, of=("self",), no_key=True)
    people = list(locked.select_related("arm").order_by("pk")[:MOST_SWEPT])
    if people:
        own = defaultdict(list)
        for judgment in judged_by(people):
            own[judgment.trial.participant_id].append(judgment)
        difference = Difference()
        for person in people:
            difference.add(person, own[person.pk], study.fast_limit_ms)
        Participant.objects.filter(pk__in=[person.pk for person in people]).update(left_at=now)
        difference.write(study, kind)
    return len(people)


# When each study was swept last, in this process
_swept: dict[tuple[object, ...], datetime] = {}
SWEEP_EVERY = timedelta(seconds=30)


def sweep_if_due(study: Study, kind: str, now: datetime) -> None:
    """Sweep, unless this process has done so half a minute ago."""
    key = (study.pk, study.created_at, kind)
    last = _swept.get(key)
    if last is None or abs(now - last) >= SWEEP_EVERY:
        sweep(study, kind, now)
        _swept[key] = now


def judged_by(people: Collection[Participant]) -> list[Judgment]:
    """The judgments of these participants, with the trials."""
    if len(people) == 1:
        return [judgment for person in people for judgment in _judged_by(person.pk)]
    return list(_with_trials(trial__participant__in=[person.pk for person in people]))


def _with_trials(**people: Any) -> QuerySet[Judgment]:
    rows = Judgment.objects.filter(**people)
    return rows.select_related("trial__advised").defer("source_record", "trial__draw")


_judged_by = Prepared(lambda pk: _with_trials(trial__participant=pk), (1, 2))


def readings(judgments: Collection[Judgment], min_rt_ms: int) -> dict[str, int]:
    """One finisher's part in what other readings of two rules would leave out (services/overview.py)."""
    if not judgments:
        return {}
    rated = [judgment for judgment in judgments if judgment.trial.stratum != QUESTION]
    confidence = not rated or any(judgment.confidence_moved for judgment in rated)
    expertise = not rated or any(judgment.expertise_moved for judgment in rated)
    tests = [judgment for judgment in rated if judgment.trial.stratum != "catch"]
    page = [_is_fast(judgment, min_rt_ms) for judgment in tests]
    chosen = [believed_ms(judgment.rt_choice_ms, judgment.own_server_ms) for judgment in tests]
    choice = [fast if ms is None else ms < min_rt_ms for ms, fast in zip(chosen, page, strict=True)]
    return {
        "untouched_neither": int(not confidence and not expertise),
        "untouched_either": int(not confidence or not expertise),
        "fast_page": sum(page),
        "fast_choice": sum(choice),
    }


def _is_fast(judgment: Judgment, min_rt_ms: int) -> bool:
    told_ms, received = judgment.own_time
    rt_ms = believed_ms(told_ms, judgment.own_server_ms)
    if rt_ms is not None:
        return rt_ms < min_rt_ms
    shown = judgment.trial.shown_at
    if shown is None or received is None:
        return False
    # Not where the clock was set back meanwhile
    return shown <= received < shown + timedelta(milliseconds=min_rt_ms)


def raise_revision(study: Study, kind: str) -> None:
    """Say that what was computed from the settled participants' data is out of date; and have the counters alone."""
    revision = DataRevision.objects.filter(study=study, kind=kind)
    if not revision.update(number=F("number") + 1):
        DataRevision.objects.bulk_create(
            [DataRevision(study=study, kind=kind)], ignore_conflicts=True
        )
        revision.update(number=F("number") + 1)


def hold_counters(study: Study, kind: str) -> None:
    """Have the counters alone, but for draws of one item, until the transaction ends."""
    revision = DataRevision.objects.filter(study=study, kind=kind)
    if not revision.select_for_update(no_key=True).exists():
        raise_revision(study, kind)


def ensure_item_counts(
    study: Study, kind: str, item_ids: Iterable[int], arm_number: int = 0
) -> None:
    """Make counters, at 0, of the items that have none in this arm."""
    own = ItemCount.objects.filter(study=study, kind=kind, arm_number=arm_number)
    items = Item.objects.filter(pk__in=item_ids).exclude(pk__in=own.values("item")).order_by("pk")
    rows = [
        ItemCount(study=study, kind=kind, item=item, stratum=item.stratum, arm_number=arm_number)
        for item in items.only("kind", "source")
    ]
    ItemCount.objects.bulk_create(rows, ignore_conflicts=True)


def _alike(changes: Mapping[Key, Counter[str]]) -> dict[Change, list[Key]]:
    """The keys of each change that is one, so that they are written together."""
    found: dict[Change, list[Key]] = defaultdict(list)
    for key, counts in changes.items():
        if change := tuple(sorted((name, n) for name, n in counts.items() if n)):
            found[change].append(key)
    return found
