"""Accuracy of the people who say they know the field: the top share of each item's trials by self-rated expertise."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.estimates import Proportion, proportion

TIE_RULE = (
    "Within each test case, the floor(share x n) trials with the highest self-rated expertise; among equal "
    "ratings, those stored first. The smallest, largest and expected accuracy over every way to break ties are "
    "also given."
)


@dataclass(frozen=True)
class TopShare:
    """Result of `top_share`: shares of correct decisions from 0 to 1, with the bounds that ties allow; mean_expertise in its scale."""

    share: float
    trials: Proportion
    n_items_contributing: int
    n_items_without: int
    mean_expertise: float
    tie_min_accuracy: float
    tie_max_accuracy: float
    tie_expected_accuracy: float
    ties_keep_last_accuracy: float
    tie_rule: str


def top_share(
    item: npt.ArrayLike, expertise: npt.ArrayLike, is_correct: npt.ArrayLike, share: float = 0.2
) -> TopShare:
    """Accuracy of the floor(share n) trials of each item with the largest expertise (paper: the top 20%).

    item (n,) whole numbers from 0, expertise (n,) on any ordered scale, is_correct (n,); rows in the order in which
    they were stored, which breaks ties; a trial without a rating (NaN) is left out. An item with fewer than
    1 / share trials gives none. The bounds: with r places left for the m trials at an item's cut, c of them
    correct, between max(0, r - (m - c)) and min(r, c) of them are correct, r c / m when drawn at random.
    Raises NotEnough when no item has enough trials, ValueError when share is not in (0, 1].

    >>> top = top_share([0, 0, 0, 0, 0], [90, 90, 10, 10, 10], [True, False, True, True, True])
    >>> top.trials.accuracy, top.tie_min_accuracy, top.tie_max_accuracy, top.tie_expected_accuracy
    (1.0, 0.0, 1.0, 0.5)
    """
    if not 0 < share <= 1:
        raise ValueError("share must be above 0 and at most 1")
    level = np.asarray(expertise, dtype=float)
    rated = ~np.isnan(level)
    items, level = np.asarray(item, dtype=np.int64)[rated], level[rated]
    right = np.asarray(is_correct, dtype=bool)[rated]
    counts = np.bincount(items)
    places = np.floor(share * counts + 1e-9).astype(np.int64)
    if not places.any():
        raise NotEnough(
            f"No test case has enough rated trials to keep the top {share:.0%}.",
            f"At least {int(np.ceil(1 / share))} trials on one test case are needed.",
        )
    stored = np.arange(len(items))
    first = _best(np.lexsort((stored, -level, items)), items, counts, places)
    last = _best(np.lexsort((-stored, -level, items)), items, counts, places)
    least, most, expected = _tie_bounds(items, level, right, first, places)
    n = int(places.sum())
    return TopShare(
        share=share,
        trials=proportion(right[first]),
        n_items_contributing=int(np.count_nonzero(places)),
        n_items_without=int(np.count_nonzero((counts > 0) & (places == 0))),
        mean_expertise=float(level[first].mean()),
        tie_min_accuracy=least / n,
        tie_max_accuracy=most / n,
        tie_expected_accuracy=expected / n,
        ties_keep_last_accuracy=float(right[last].mean()),
        tie_rule=TIE_RULE,
    )


def at_least_percentile(
    expertise: npt.ArrayLike, is_correct: npt.ArrayLike, percentile: float = 80
) -> tuple[float, Proportion]:
    """(threshold, accuracy of the trials with expertise >= threshold); the percentile over all trials, linear between ranks.

    expertise and is_correct (n,); a trial without a rating (NaN) is left out. Raises NotEnough when none is left.

    >>> threshold, top = at_least_percentile([10, 20, 30], [False, True, True], 50)
    >>> threshold, top.n, top.accuracy
    (20.0, 2, 1.0)
    """
    level, right = np.asarray(expertise, dtype=float), np.asarray(is_correct, dtype=bool)
    rated = ~np.isnan(level)
    if not rated.any():
        raise NotEnough("No trial has a rating of expertise.", "At least one is needed.")
    threshold = float(np.percentile(level[rated], percentile))
    return threshold, proportion(right[rated & (level >= threshold)])


def _best(order: Ints, items: Ints, counts: Ints, places: Ints) -> Ints:
    """Rows, best first within each item, cut at the item's number of places."""
    starts = np.cumsum(counts) - counts
    ordered = items[order]
    best: Ints = order[np.arange(len(order)) - starts[ordered] < places[ordered]]
    return best


def _tie_bounds(
    items: Ints, level: Floats, right: Bools, best: Ints, places: Ints
) -> tuple[float, float, float]:
    """Fewest, most and expected correct decisions among the best trials over every way to break ties at the cuts."""
    cut = np.full(len(places), np.inf)
    np.minimum.at(cut, items[best], level[best])

    def count(rows: Bools) -> Floats:
        return np.bincount(items[rows], minlength=len(places)).astype(float)

    above, tied = level > cut[items], level == cut[items]
    sure, tied_n, tied_right = count(above & right).sum(), count(tied), count(tied & right)
    left = places - count(above)
    left[places == 0] = 0
    least = np.maximum(0, left - (tied_n - tied_right)).sum()
    most = np.minimum(left, tied_right).sum()
    expected = (left * tied_right / np.maximum(tied_n, 1)).sum()
    return float(sure + least), float(sure + most), float(sure + expected)
