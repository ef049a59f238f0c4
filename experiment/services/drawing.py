"""The draw of a participant's next item, and the trial that shows it.

A draw reads the counters, chooses, and takes the item if nobody took it meanwhile. Nothing is locked while choosing. The
counter of the chosen item is raised on condition that it still says what was read; who was overtaken begins again, and sees
what the other one took. Other items can meanwhile have become no less exposed but by a participant who left or withdrew, so
that the chosen one is the least exposed at the moment when it is taken, as it would be under a lock on all of them.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

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
from experiment.domain.assignment import PAPER, Counters, DrawRecord, Met, PoolItem
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
from experiment.services.flow import lock, require
from lib.fast.prepared import Prepared
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


def draw(
    participant: Participant,
    position: int,
    met: list[Met],
    now: datetime,
    shown_at: datetime | None = None,
    counters: Counters | None = None,
) -> Trial:
    """Give the (locked) participant the item of this position; the trial is stored, and added to those `met`.

    `counters` are those of its stratum, where they were read before, and are kept as they are now.
    """
    stratum, original_side = participant.plan[position - 1]
    if counters is None:
        counters = read(participant.study, participant.kind, stratum, now, participant.arm)
    chosen, record, key, scores = assignment.decide(
        counters, participant.policy, stratum, met, participant.seed, position
    )
    assert chosen.counter_id is not None  # `read` has made it
    as_read = ItemCount.objects.filter(pk=chosen.counter_id, assigned=chosen.assigned)
    if not as_read.update(assigned=F("assigned") + 1):
        raise OvertakenError
    logger.debug("drew %d with %s from %s", chosen.item_id, key, scores)
    counters.pool[counters.pool.index(chosen)] = chosen._replace(assigned=chosen.assigned + 1)
    met.append(Met(stratum, chosen.item_id, chosen.work, chosen.template))
    trial = Trial(
        participant=participant,
        position=position,
        stratum=stratum,
        item=known_item(chosen.item_id, chosen.sha256),
        original_side=original_side,
        drawn_at=now,
        token=unguessable_id(),
        shown_at=shown_at,
        draw=record,
    )
    trial.save(force_insert=True)
    return trial


def draw_all(participant: Participant, now: datetime) -> list[Trial]:
    """As the paper's host: all items are assigned at once, and counted as used."""
    # Who takes several counters' locks takes this one first
    hold_counters(participant.study, participant.kind)
    counters: dict[str, Counters] = {}
    met: list[Met] = []
    trials = []
    for position, (stratum, _) in enumerate(participant.plan, start=1):
        if stratum not in counters:
            counters[stratum] = read(
                participant.study, participant.kind, stratum, now, participant.arm
            )
        trials.append(draw(participant, position, met, now, counters=counters[stratum]))
    return trials


@lru_cache(maxsize=4096)
def known_item(pk: int, sha256: str) -> Item:
    """The item with this text, read once by each process; `sha256` is of its markup, which names what is in it."""
    item = Item.objects.get(pk=pk)
    assert item.sha256 == sha256
    return item


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


def read(study: Study, kind: str, stratum: str, now: datetime, arm: Arm | None = None) -> Counters:
    """The counters that a draw from this stratum, in this arm, would go by now."""
    given = (study.pk, kind, study.live_since(now))
    rows: Iterable[tuple[Any, ...]]
    if arm is None:
        rows = _written(stratum, in_arm=False)(*given)
    elif arm.subfields:
        rows = _query(stratum, *given, arm.pk, arm.number, arm.subfields)
    else:
        rows = _written(stratum, in_arm=True)(*given, arm.pk, arm.number)
    pool: list[PoolItem] = []
    held: list[tuple[int, int, int]] = []
    left_at, finished = {}, 0
    for what, a, b, c, d, e, text, key, sha256 in rows:
        if what == "pool":
            pool.append(PoolItem(a, work_name(text, key), sha256, b, c or 0, d or 0, e or 0))
        elif what == "held":
            held.extend((a, int(page), n) for page, n in Counter(text.split(",")).items())
        elif what == Fate.LEFT:
            left_at[b] = c
        else:
            finished += c
    if any(row.counter_id is None for row in pool):  # before the first draw
        number = 0 if arm is None else arm.number
        ensure_item_counts(study, kind, [row.item_id for row in pool], number)
        return read(study, kind, stratum, now, arm)
    return Counters(sorted(pool), held, left_at, finished)


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
    is_first = trial is None or trial.shown_at is None
    if trial is not None:
        trial.item = known_item(trial.item_id, trial.item.sha256)
    elif participant.policy == PAPER:
        trial = draw_all(participant, now)[position - 1]
    else:
        given = [Met(t.stratum, t.item_id, t.item.work, t.item.template_id or 0) for t in met]
        trial = draw(participant, position, given, now, shown_at=now)
    if trial.shown_at is None:
        trial.shown_at = now
        trial.save(update_fields=["shown_at"])
    if participant.arm_id is not None:
        advised.note_shown(participant, trial, now, is_first=is_first)
    seen = participant.last_seen_at
    if participant.started_at is None or seen is None or now - seen >= SEEN_EVERY:
        participant.started_at = participant.started_at or now
        participant.last_seen_at = max(seen or now, now)
        participant.save(update_fields=["started_at", "last_seen_at"])
    return trial
