"""Whether an item is answered as the others are: by the same people, and by people as by models."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.estimates import Z95

FEWEST = 10  # people of an item-rest correlation
ITEM_REST = (
    "Pearson's correlation, over the people who judged the item, of being right on it with their mean of (right - share right "
    "on that item) over the other items that they judged; 95% interval from Fisher's z."
)


@dataclass(frozen=True)
class ItemRest:
    """Of `item_rest`: r from -1 to 1 over n people."""

    n: int
    r: float
    ci95: Interval
    method: str = ITEM_REST


def item_rest(
    person: npt.ArrayLike, item: npt.ArrayLike, is_right: npt.ArrayLike, which: int
) -> ItemRest:
    """Corrected item-rest (point-biserial) correlation of item `which`; rows (n,) are answers, one per person and item.

    r = corr(y_iw, mean over j != w of (y_ij - p_j)), p_j the share right on item j: people are shown different items,
    and one who was given easy ones is not able for that. Where everyone judged the same items it is the usual corrected
    correlation. Raises NotEnough below ten people who judged another item too, or where one of the two does not vary.

    >>> people, items = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    >>> round(item_rest(people, items, (people < 6) & (people > -1), 0).r, 6)
    1.0
    """
    people, number = np.unique(np.asarray(person), return_inverse=True)
    items, right = np.asarray(item, dtype=np.int64), np.asarray(is_right, dtype=float)
    n_items = max(int(items.max(initial=0)), which) + 1
    answers = np.bincount(items, minlength=n_items)
    shares = np.bincount(items, right, n_items) / np.maximum(answers, 1)
    own = items == which
    rest = np.bincount(number[~own], (right - shares[items])[~own], len(people))
    n_rest = np.bincount(number[~own], minlength=len(people))
    judged = number[own][n_rest[number[own]] > 0]
    y = right[own][n_rest[number[own]] > 0]
    if len(y) < FEWEST:
        raise NotEnough(
            f"{len(y)} people judged this test case and another one.",
            f"At least {FEWEST} are needed.",
        )
    x = rest[judged] / n_rest[judged]
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        raise NotEnough("All who judged it agree, or did alike on the others.", "Both must vary.")
    r = float(np.corrcoef(x, y)[0, 1])
    return ItemRest(len(y), r, _fisher(r, len(y)))


def _fisher(r: float, n: int) -> Interval:
    if abs(r) >= 1 - 1e-12:
        return (r, r)
    half = Z95 / np.sqrt(n - 3)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def rank_differences(people: npt.ArrayLike, models: npt.ArrayLike) -> Floats:
    """Disagreement of two orders of the same items (n,), in standard deviations; NaN below three items.

    D = (rank_people - rank_models) / sqrt((n^2 - 1) / 6), ranks from 1 for the hardest, ties at their mean rank: the
    denominator is the standard deviation of the difference if the orders had nothing to do with each other. Positive:
    easier for people than for models.

    >>> rank_differences([0.2, 0.5, 0.9], [3.0, 2.0, 1.0]).round(2).tolist()
    [-1.73, 0.0, 1.73]
    """
    # Here, since SciPy is heavy for who asks for another estimate alone
    from scipy.stats import rankdata

    a, b = np.asarray(people, dtype=float), np.asarray(models, dtype=float)
    if len(a) < 3:
        return np.full(len(a), np.nan)
    found: Floats = (rankdata(a) - rankdata(b)) / np.sqrt((len(a) ** 2 - 1) / 6)
    return found
