"""How often a study's items were judged, and who may judge them next. Counted from rows: no counter can drift."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from experiment.models import Item, Judgment, Participant, Study, Trial

Stage = Participant.Stage
STRATA = ("human", "machine", "catch")
# A bar per number of judgments while there are few of them; then bars over equal ranges.
MAX_BARS = 12


@dataclass(frozen=True, slots=True)
class DropoutCounts:
    """Participants whose end is known: how many finished, and furthest page -> how many left there."""

    finished: int
    left_at: dict[int, int]


def valid_exposures(study: Study, kind: str) -> dict[int, int]:
    """Item id -> number of valid judgments, for every item that was judged in the study."""
    return Judgment.objects.of(study, kind).valid().count_by_item()


def held_items(study: Study, kind: str, now: datetime) -> list[tuple[int, int, int]]:
    """(item id, page the holder is on, number of holders) over live participants."""
    live = Participant.objects.of(study, kind).live(study, now)
    rows = live.filter(trials__isnull=False).order_by().values_list("trials__item", "page_reached")
    return list(rows.annotate(n=Count("pk")))


def dropout_counts(study: Study, kind: str, now: datetime) -> DropoutCounts:
    """Those who withdrew are not counted: their rows no longer say how far they came."""
    is_known = Q(stage=Stage.FINISHED) | Q(
        last_seen_at__lt=now - timedelta(minutes=study.live_minutes)
    )
    people = Participant.objects.of(study, kind).exclude(stage=Stage.WITHDRAWN).filter(is_known)
    left_at: dict[int, int] = {}
    n_finished = 0
    rows = people.order_by().values_list("stage", "page_reached").annotate(n=Count("pk"))
    for stage, page, n in rows:  # one query: a draw waits for it with the study locked
        if stage == Stage.FINISHED:
            n_finished += n
        else:
            left_at[page] = left_at.get(page, 0) + n
    return DropoutCounts(n_finished, left_at)


def assigned_counts(study: Study, kind: str) -> dict[int, int]:
    """Item id -> number of trials ever assigned: the paper's policy."""
    rows = Trial.objects.filter(participant__study=study, participant__kind=kind)
    return dict(rows.order_by().values_list("item").annotate(n=Count("pk")))


@dataclass(frozen=True, slots=True)
class Bar:
    """Of a histogram: how many items have `first` to `last` judgments; `percent` is of the longest bar."""

    first: int
    last: int
    n_items: int
    percent: float


@dataclass(frozen=True, slots=True)
class Exposures:
    """Valid judgments per item of one stratum; `sd` is of the items themselves, not estimated."""

    stratum: str
    n_items: int
    mean: float
    sd: float
    min: int
    max: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class ItemExposure:
    item: Item
    stratum: str
    valid: int
    judged: int
    held: int


def item_exposures(study: Study, kind: str, now: datetime) -> list[ItemExposure]:
    """The study's items other than practice, with how often each was judged, least exposed first.

    Judgments of any version count, since a published text is judged as version 1 and drawn as its repair. Who is
    shown what next goes by the version itself (`valid_exposures`).
    """
    judgments = Judgment.objects.of(study, kind)
    valid, judged = judgments.valid().count_by_key(), judgments.count_by_key()
    held = _held_by_key(study, kind, now)
    items = study.items.exclude(kind=Item.Kind.PRACTICE).only(
        "key", "version", "kind", "source", "subfield", "status"
    )
    rows = [
        ItemExposure(
            item,
            item.stratum,
            valid.get(item.key, 0),
            judged.get(item.key, 0),
            held[item.key],
        )
        for item in items
    ]
    return sorted(rows, key=lambda row: (STRATA.index(row.stratum), row.valid, row.item.key))


def _held_by_key(study: Study, kind: str, now: datetime) -> Counter[str]:
    """How many live participants hold each item, in any version."""
    holders = [(item, n) for item, _, n in held_items(study, kind, now)]
    keys = dict(Item.objects.filter(pk__in={item for item, _ in holders}).values_list("pk", "key"))
    held: Counter[str] = Counter()
    for item, n in holders:
        held[keys[item]] += n
    return held


def exposures(rows: Sequence[ItemExposure]) -> list[Exposures]:
    """Summary and histogram per stratum that has items."""
    found = []
    for stratum in STRATA:
        counts = [row.valid for row in rows if row.stratum == stratum]
        if counts:
            mean, sd = statistics.fmean(counts), statistics.pstdev(counts)
            columns = histogram(counts)
            found.append(
                Exposures(stratum, len(counts), mean, sd, min(counts), max(counts), columns)
            )
    return found


def histogram(counts: Sequence[int]) -> tuple[Bar, ...]:
    """Bars over all values from the lowest to the highest, empty ones included."""
    low, high = min(counts), max(counts)
    span = -(-(high - low + 1) // MAX_BARS)
    tally = Counter((count - low) // span for count in counts)
    longest = max(tally.values())
    return tuple(
        Bar(
            first=start,
            last=start + span - 1,
            n_items=tally[n],
            percent=100 * tally[n] / longest,
        )
        for n, start in enumerate(range(low, high + 1, span))
    )
