"""The draw of a participant's next item, and the trial that shows it.

A draw reads the counters, chooses, and takes the item if nobody took it meanwhile. Nothing is locked while choosing. The
counter of the chosen item is raised on condition that it still says what was read; who was overtaken begins again, and sees
what the other one took. Other items can meanwhile have become no less exposed but by a participant who left or withdrew, so
that the chosen one is the least exposed at the moment when it is taken, as it would be under a lock on all of them.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.db import transaction
from django.db.models import (
    Aggregate,
    F,
    FilteredRelation,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
)

from experiment.domain import assignment
from experiment.domain.assignment import DrawRecord
from experiment.models import (
    Arm,
    Item,
    ItemCount,
    Participant,
    PeopleCount,
    Study,
    Trial,
    work_name,
)
from experiment.services import advised
from experiment.services.counting import ensure_item_counts, hold_counters
from experiment.services.flow import (
    lock,
    require,
)
from lib.fast.prepared import Prepared, insert, update
from lib.unguessable import unguessable_id

logger = logging.getLogger(__name__)
Fate = PeopleCount.Fate
Given = ParamSpec("Given")
Result = TypeVar("Result")


class OvertakenError(Exception):
    """Somebody else was given the chosen item meanwhile."""


def until_drawn(action: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run the action in a transaction, as often as its draw is overtaken.

    The whole transaction is begun anew: PostgreSQL keeps a row locked that was waited for and then not changed, and
    who waits for a second one while having a first can wait for ever.
    """

    @wraps(action)
    def repeated(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        while True:
            try:
                with transaction.atomic():
                    return action(*args, **kwargs)
            except OvertakenError:
                continue

    return repeated


class PoolItem(NamedTuple):
    """An item that may be drawn, and its counters as they were read."""

    item_id: int
    work: str
    sha256: str
    counter_id: int | None
    assigned: int
    valid: int
    template: int  # 0: none


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters that a draw goes by, read at one moment.

    pool: in the order of the items' ids. held: (item id, page its holder is on, number of such holders), live ones.
    left_at: page -> how many left there; those who withdrew are not counted: their rows do not say how far they came.
    """

    pool: list[PoolItem]
    held: list[tuple[int, int, int]]
    left_at: dict[int, int]
    finished: int

    def count(self, item_id: int) -> None:
        """Once more assigned."""
        n = next(n for n, row in enumerate(self.pool) if row.item_id == item_id)
        self.pool[n] = self.pool[n]._replace(assigned=self.pool[n].assigned + 1)

    def scores(self, policy: str) -> dict[int, float]:
        """By item id: expected exposure, or under the paper's policy how often it was assigned."""
        if policy == Study.Policy.PAPER:
            return {row.item_id: float(row.assigned) for row in self.pool}
        pages = {page for _, page, _ in self.held}
        chances = assignment.finish_chances(self.left_at, self.finished, pages)
        valid = {row.item_id: row.valid for row in self.pool}
        return assignment.expected_exposures(valid, self.held, chances)


@dataclass(frozen=True, slots=True)
class Met:
    """The items that a participant was given so far.

    works: of abstracts, and of questions. templates: template -> number of questions.
    """

    items: set[int] = field(default_factory=set)
    of_abstracts: set[str] = field(default_factory=set)
    of_questions: set[str] = field(default_factory=set)
    templates: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> "Met":
        met = cls()
        for trial in trials:
            met.add(trial.stratum, trial.item_id, trial.item.work, trial.item.template_id or 0)
        return met

    def add(self, stratum: str, item: int, work: str, template: int) -> None:
        self.items.add(item)
        (self.of_questions if stratum == assignment.QUESTION else self.of_abstracts).add(work)
        if template:
            self.templates[template] += 1

    def closed_works(self, stratum: str) -> set[str]:
        """An abstract gives away what is asked about it; two questions about one article are as good as any two."""
        if stratum == assignment.QUESTION:
            return self.of_abstracts
        return self.of_abstracts | self.of_questions


def draw(
    participant: Participant,
    position: int,
    met: Met,
    now: datetime,
    shown_at: datetime | None = None,
    counters: Counters | None = None,
) -> Trial:
    """Give the (locked) participant the item of this position; the trial is stored.

    `counters` are those of its stratum, where they were read before.
    """
    stratum, original_side = participant.plan[position - 1]
    key = assignment.rng_key(participant.seed, "draw", position)
    counters = counters or read_for(participant, stratum, now)
    scores = counters.scores(participant.policy)
    drawn = assignment.draw_item(
        [
            assignment.Candidate(row.item_id, row.work, scores[row.item_id], row.template)
            for row in counters.pool
        ],
        met.closed_works(stratum),
        met.items,
        key,
        n_before=sum(row.assigned for row in counters.pool),
        taken_templates=met.templates,
    )
    chosen = next(row for row in counters.pool if row.item_id == drawn.item_id)
    _take(chosen)
    logger.debug("drew %d with %s from %s", drawn.item_id, key, drawn.scores)
    met.add(stratum, chosen.item_id, chosen.work, chosen.template)
    trial = Trial(
        participant=participant,
        position=position,
        stratum=stratum,
        item=known_item(chosen.item_id, chosen.sha256),
        original_side=original_side,
        drawn_at=now,
        token=unguessable_id(),
        shown_at=shown_at,
        draw=drawn.record.pack(),
    )
    insert(trial)
    return trial


def draw_all(participant: Participant, now: datetime) -> None:
    """As the paper's host: all items are assigned at once, and counted as used."""
    # Who takes several counters' locks takes this one first
    hold_counters(participant.study, participant.kind)
    met = Met()
    counters: dict[str, Counters] = {}
    for position, (stratum, _) in enumerate(participant.plan, start=1):
        if stratum not in counters:
            counters[stratum] = read_for(participant, stratum, now)
        trial = draw(participant, position, met, now, counters=counters[stratum])
        counters[stratum].count(trial.item_id)


@lru_cache(maxsize=4096)
def known_item(pk: int, sha256: str) -> Item:
    """The item with this text, read once by each process; `sha256` is of its markup, which names what is in it."""
    item = Item.objects.get(pk=pk)
    assert item.sha256 == sha256
    return item


def read_for(participant: Participant, stratum: str, now: datetime) -> Counters:
    """As `read`, of the participant's arm."""
    return read(participant.study, participant.kind, stratum, now, participant.arm)


def read(study: Study, kind: str, stratum: str, now: datetime, arm: Arm | None = None) -> Counters:
    """The counters that a draw from this stratum, in this arm, would go by now."""
    counters = _read(study, kind, stratum, now, arm)
    if any(row.counter_id is None for row in counters.pool):
        ids = [row.item_id for row in counters.pool]
        ensure_item_counts(study, kind, ids, 0 if arm is None else arm.number)
        counters = _read(study, kind, stratum, now, arm)
    return counters


class Joined(Aggregate):
    """Numbers of a group as text, separated by commas: a row for each would be what a draw costs most."""

    function = "STRING_AGG"
    template = "%(function)s(CAST(%(expressions)s AS TEXT), ',')"
    output_field = TextField()

    def as_sqlite(self, *args: Any, **kwargs: Any) -> Any:
        return self.as_sql(*args, function="GROUP_CONCAT", **kwargs)


def _query(
    stratum: str,
    study: int,
    kind: str,
    since: datetime,
    arm: int | None = None,
    arm_number: int = 0,
    subfields: Sequence[str] = (),
) -> QuerySet[Any, Any]:
    """In one query, so that nobody is seen to have finished and still to hold an item, or neither.

    Exposures and holders are those of the arm; how far people come is known best from all arms.
    """
    of_arm = Q(counts__study=study, counts__kind=kind, counts__arm_number=arm_number)
    counts = FilteredRelation("counts", condition=of_arm)
    items = Item.objects.drawable_in(study).of_stratum(stratum)
    if subfields and stratum in Item.Source.values:
        items = items.filter(subfield__in=subfields)
    texts = ("doi", "key", "sha256")
    numbers = ("pk", "own__pk", "own__assigned", "own__valid", "template")
    pool = items.annotate(own=counts).order_by().values_list(Value("pool"), *numbers, *texts)
    live = Participant.objects.filter(study=study, kind=kind, arm=arm).under_way()
    holders = live.filter(last_seen_at__gte=since, trials__isnull=False).order_by()
    pages = holders.values("trials__item").annotate(pages=Joined("page_reached"))
    zero, none = Value(0), Value("")
    settled = PeopleCount.objects.filter(
        study=study, kind=kind, fate__in=(Fate.LEFT, Fate.FINISHED)
    )
    return pool.union(
        pages.values_list(
            Value("held"), "trials__item", zero, zero, zero, zero, "pages", none, none
        ),
        settled.order_by().values_list(
            "fate", zero, "page", Sum("n"), zero, zero, none, none, none
        ),
        all=True,
    )


_EXAMPLES = (
    (1, 2),
    ("real", "pilot"),
    (datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)),
)
_IN_ARM = ((1, 2), (1, 2))


@cache
def _written(stratum: str, in_arm: bool) -> Prepared[Any]:
    """The query whose SQL is written once: neither is a value of it, but another condition."""
    return Prepared(partial(_query, stratum), *_EXAMPLES, *(_IN_ARM if in_arm else ()))


def _read(study: Study, kind: str, stratum: str, now: datetime, arm: Arm | None) -> Counters:
    given = (study.pk, kind, study.live_since(now))
    rows: Iterable[tuple[Any, ...]]
    if arm is None:
        rows = _written(stratum, in_arm=False)(*given)
    elif arm.subfields:
        rows = _query(stratum, *given, arm.pk, arm.number, arm.subfields)
    else:
        rows = _written(stratum, in_arm=True)(*given, arm.pk, arm.number)
    found = Counters([], [], {}, 0)
    n_finished = 0
    for what, a, b, c, d, e, text, key, sha256 in rows:
        if what == "pool":
            found.pool.append(PoolItem(a, work_name(text, key), sha256, b, c or 0, d or 0, e or 0))
        elif what == "held":
            holders = Counter(text.split(","))
            found.held.extend((a, int(page), n) for page, n in holders.items())
        elif what == Fate.LEFT:
            found.left_at[b] = c
        else:
            n_finished += c
    found.pool.sort()
    return replace(found, finished=n_finished)


def _take(chosen: PoolItem) -> None:
    """Raise the item's counter, if it is as it was read."""
    assert chosen.counter_id is not None
    as_read = ItemCount.objects.filter(pk=chosen.counter_id, assigned=chosen.assigned)
    if not as_read.update(assigned=F("assigned") + 1):
        raise OvertakenError


def replay(trial: Trial) -> int:
    """The item that the kept record and the participant's seed give: always the one that was shown."""
    key = assignment.rng_key(trial.participant.seed, "draw", trial.position)
    return DrawRecord.unpack(bytes(trial.draw)).item_id(key)


# Who was seen a moment ago need not be noted again
SEEN_EVERY = timedelta(seconds=10)
# Of trials, what a draw and a page need
OF_MET = (
    "participant_id",
    "position",
    "stratum",
    "item_id",
    "original_side",
    "token",
    "shown_at",
    "item__doi",
    "item__key",
    "item__sha256",
    "item__template",
    "judgment__idempotency_key",
)


@until_drawn
def show_trial(participant: Participant, position: int, now: datetime) -> Trial:
    """The trial at this position, drawn now if it was not shown before.

    Who has left holds no item: the page sweeps before (`counting.sweep_if_due`).
    """
    locked = lock(participant)
    require(locked, Participant.Stage.TRIAL, position)
    return show(locked, trials_met(locked), now)


def trials_met(participant: Participant) -> list[Trial]:
    """The participant's trials with the judgments: what a draw, a page and an answer need of them."""
    trials = _trials_met(participant.pk)
    for trial in trials:
        trial.participant = participant
    return trials


_trials_met = Prepared(
    lambda pk: (
        Trial.objects.filter(participant=pk)
        .select_related("item", "judgment")
        .only(*OF_MET)
        .order_by("position")
    ),
    (1, 2),
)


def show(participant: Participant, met: Sequence[Trial], now: datetime) -> Trial:
    """As `show_trial`, of a participant who is locked, on a trial's page, and has met these trials."""
    position = participant.position
    trial = next((trial for trial in met if trial.position == position), None)
    if trial is None:
        trial = _draw(participant, position, met, now)
    else:
        trial.item = known_item(trial.item_id, trial.item.sha256)
    is_first = trial.shown_at is None or trial not in met
    if trial.shown_at is None:
        trial.shown_at = now
        update(trial, "shown_at")
    if participant.arm_id is not None:
        advised.note_shown(participant, trial, now, is_first=is_first)
    seen = participant.last_seen_at
    if participant.started_at is None or seen is None or now - seen >= SEEN_EVERY:
        participant.started_at = participant.started_at or now
        participant.last_seen_at = max(seen or now, now)
        update(participant, "started_at", "last_seen_at")
    return trial


def _draw(participant: Participant, position: int, met: Sequence[Trial], now: datetime) -> Trial:
    if participant.policy == Study.Policy.PAPER:
        draw_all(participant, now)
        return participant.trials.select_related("item").get(position=position)
    return draw(participant, position, Met.of(met), now, shown_at=now)
