"""Judgments counted by item: the models' evidence, and how often people gave each answer with each confidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.domain.evidence import Evidence

# A model whose evidence on all items is, but for this share of its length, a weighted sum of other models'. Nearer copies
# would correlate beyond model.MOST_PARTIAL: what that keeps R from saying, scales would take up, and count them twice.
COPY = 0.01


@dataclass(frozen=True)
class Items:
    """All towards the truth. x: (items, m) the models' evidence in its units.

    counts: (items, 2 K) people's answers, from wrong with the highest level of confidence, through wrong and right with the
    lowest, to right with the highest; (items, 0) in teams without people. item: (items,) their numbers in the evidence.
    """

    item: Ints
    x: Floats
    counts: Floats

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_levels(self) -> int:
        return int(self.counts.shape[1]) // 2

    @cached_property
    def most_answers(self) -> float:
        """On one item."""
        return float(self.counts.sum(axis=1).max(initial=0.0))

    @cached_property
    def log_size(self) -> Floats:
        """(items, m) log |x|; for x = 0, which has none, that of the model's smallest evidence."""
        size = np.abs(self.x)
        least = np.where(size > 0, size, np.inf).min(axis=0, initial=np.inf)
        least = np.where(np.isfinite(least), least, 1.0)
        return np.asarray(np.log(np.where(size > 0, size, least)))

    @property
    def mirrored(self) -> "Items":
        """The same judgments, were the other side the original."""
        return Items(self.item, -self.x, self.counts[:, ::-1])

    def rows(self, chosen: Bools | Ints) -> "Items":
        """The chosen items."""
        return Items(self.item[chosen], self.x[chosen], self.counts[chosen])


def level_bounds(ratings: Floats, n_levels: int) -> tuple[float, ...]:
    """The highest ratings of all levels but the last: quantiles of the ratings (n,); equal ratings share a level.

    Fewer than n_levels - 1 where ratings are too much alike.

    >>> level_bounds(np.array([1.0, 2, 3, 4, 5, 6]), 3)
    (2.0, 4.0)
    >>> level_bounds(np.array([5.0, 5, 5, 5, 5, 6]), 3), level_bounds(np.array([5.0, 5]), 3)
    ((5.0,), ())
    """
    if not len(ratings) or n_levels < 2:
        return ()
    shares = np.arange(1, n_levels) / n_levels
    found = np.unique(np.quantile(ratings, shares, method="inverted_cdf"))
    return tuple(float(b) for b in found if b < ratings.max())


def categories(towards: Floats, bounds: Sequence[float]) -> Ints:
    """Columns of Items.counts for signed confidences in the original, of any shape; -1 for 0, which is no choice.

    >>> categories(np.array([-9.0, -1, 0, 1, 9]), (5.0,)).tolist()
    [0, 1, -1, 2, 3]
    """
    k = len(bounds) + 1
    level = np.searchsorted(np.asarray(bounds, dtype=float), np.abs(towards))
    found = np.where(towards > 0, k + level, k - 1 - level)
    return np.where(towards == 0, -1, found)


def ratings(evidence: Evidence) -> Floats:
    """People's ratings above 0, each judgment once however many rows it is in."""
    signed = _judgments(evidence)[2]
    return np.asarray(np.abs(signed[signed != 0]))


def count(evidence: Evidence, bounds: Sequence[float]) -> Items:
    """The evidence's items in ascending order, each judgment once. A model says the same on all rows of an item."""
    items, first = np.unique(evidence.item, return_index=True)
    towards = evidence.towards_truth
    x = towards[first, evidence.n_humans :]
    if not evidence.n_humans:
        return Items(items, x, np.zeros((len(items), 0)))
    n = 2 * (len(bounds) + 1)
    item, truth, signed = _judgments(evidence)
    column = categories(signed * truth, bounds)
    chosen = column >= 0
    cell = np.searchsorted(items, item[chosen]) * n + column[chosen]
    counts = np.bincount(cell, minlength=len(items) * n).reshape(len(items), n)
    return Items(items, x, counts.astype(float))


def _judgments(evidence: Evidence) -> tuple[Ints, Floats, Floats]:
    """Item, truth and signed confidence of each distinct judgment of a person."""
    h = evidence.n_humans
    if not h:
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    _, place = np.unique(evidence.trial[:, :h], return_index=True)
    row = place // h
    return evidence.item[row], evidence.truth[row], evidence.signed[:, :h].ravel()[place]


def not_copies(x: Floats) -> Ints:
    """Columns of x (items, m) in order, without those that are weighted sums of columns before them.

    A copy of a model, or a multiple of it, adds nothing to what it says. Within 1 % of its length counts as a copy.

    >>> not_copies(np.array([[1.0, 2, 0], [2, 4, 1], [3, 6, 5]])).tolist()
    [0, 2]
    """
    independent: list[int] = []
    for j in range(x.shape[1]):
        if independent and x[:, j].any():
            weights = np.linalg.lstsq(x[:, independent], x[:, j], rcond=None)[0]
            left = x[:, j] - x[:, independent] @ weights
            if np.linalg.norm(left) <= COPY * np.linalg.norm(x[:, j]):
                continue
        independent.append(j)
    return np.array(independent, dtype=np.int64)


def need_spread(items: Items, names: Sequence[str]) -> None:
    """Raises NotEnough where a scale cannot be learned: too few items, or a model's evidence the same on all but one."""
    n, m = items.x.shape
    if n < m + 2:
        raise NotEnough(
            f"There are {n} items for {m} {'model' if m == 1 else 'models'}.",
            "How models' evidence varies together takes at least two items more than models.",
        )
    for j, name in enumerate(names):
        alike = int(np.unique(items.x[:, j], return_counts=True)[1].max())
        if alike >= n - 1:
            raise NotEnough(
                f"The evidence of {name} towards the original is the same on {'all' if alike == n else 'all but one'} of "
                f"{n} items.",
                "How it varies from item to item must be learned: choose other members, or use more items.",
            )
    if items.n_levels and not items.counts.any():
        raise NotEnough("No person chose a side in these trials.", "At least one choice is needed.")
