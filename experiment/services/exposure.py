"""How often a study's items were judged: what the lab's page shows."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from experiment.models import Item, Study
from experiment.services.counts import KeyCounts, by_key

NOT_GIVEN = KeyCounts(valid=0, judged=0, held=0)
STRATA = ("human", "machine", "catch", "question")
# A bar per number of judgments while there are few of them; then bars over equal ranges.
MAX_BARS = 12


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
    shown what next goes by the version itself.
    """
    counts = by_key(study, kind, now)
    items = study.items.exclude(kind=Item.Kind.PRACTICE).only(
        "key", "version", "kind", "source", "subfield", "status"
    )
    rows = [
        ItemExposure(item, item.stratum, **asdict(counts.get(item.key, NOT_GIVEN)))
        for item in items
    ]
    return sorted(rows, key=lambda row: (STRATA.index(row.stratum), row.valid, row.item.key))


def exposures(rows: Sequence[ItemExposure]) -> list[Exposures]:
    """Summary and histogram per stratum that has items."""
    of_each = {s: [row.valid for row in rows if row.stratum == s] for s in STRATA}
    return [summary(stratum, counts) for stratum, counts in of_each.items() if counts]


def summary(stratum: str, counts: Sequence[int]) -> Exposures:
    """Of one stratum, from the judgments of each of its items."""
    mean, sd = statistics.fmean(counts), statistics.pstdev(counts)
    return Exposures(stratum, len(counts), mean, sd, min(counts), max(counts), histogram(counts))


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
