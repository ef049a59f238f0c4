"""How sure mean rank correlations of many judges are, had the items been others: a bootstrap over items."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.crossed_bootstrap import spread, times_drawn

# Ranks computed in all resamples together; so many resamples, within these bounds, as that allows
MOST_RANKS, FEWEST, MOST = 20_000_000, 200, 1000
AT_ONCE = 25_000  # numbers in an array, so that it stays in the processor's cache
METHOD = (
    "95% percentile intervals from {resamples:,} resamples of items (seed {seed}), the same for all judges; ranks are "
    "recomputed in each. They say how another sample of items would move the means, with the same models."
)


@dataclass(frozen=True)
class MeanCorrelations:
    """Intervals of the mean rank correlation of all pairs of judges, and of the judges with `other`; None: not defined."""

    among: Interval | None
    with_other: Interval | None
    n_items: int
    resamples: int
    seed: int
    method: str


@dataclass(frozen=True)
class _Standard:
    """Sum over judges of their resampled ranks, each brought to mean 0 and length 1, (items, resamples), and how many have any."""

    total: Floats
    n: Floats


def mean_correlations(
    judges: npt.ArrayLike, other: npt.ArrayLike, *, seed: int = 42, resamples: int | None = None
) -> MeanCorrelations:
    """Intervals of two means of Spearman's rho: judges (judges, items) among themselves, and with other (items,).

    NaN: not judged; a pair uses the items that both have, a pair without variation (or below three items) is left out.
    The items drawn are those that any judge has. An item drawn w times is w equal values, so that its midrank is
    (weight below) + (weight tied + 1) / 2: cumulated weights in the order of the whole sample rank every resample
    without sorting it. The mean of correlations z_i . z_j of standardised ranks is (|sum z|^2 - n) / (n (n - 1)).
    resamples: None for 200 to 1,000, fewer the more judges and items there are.

    >>> found = mean_correlations([[1, 2, 3, 4], [2, 4, 6, 8]], [4, 3, 2, 1], resamples=50)
    >>> [round(end, 9) for end in found.among], [round(end, 9) for end in found.with_other]
    ([1.0, 1.0], [-1.0, -1.0])
    """
    values, last = np.asarray(judges, dtype=np.float64), np.asarray(other, dtype=np.float64)
    drawn = ~np.isnan(values).all(axis=0)
    values, last = values[:, drawn], last[drawn]
    # Judges with the same items share them with any third: one step for each pair of patterns, not of judges
    patterns, which = np.unique(~np.isnan(values), axis=0, return_inverse=True)
    which = which.ravel()
    if resamples is None:
        ranks = values.size * (1 + len(patterns))
        resamples = int(np.clip(MOST_RANKS // max(ranks, 1), FEWEST, MOST))
    times = times_drawn(np.random.default_rng(seed), resamples, values.shape[1]).T.copy()
    among, with_other = np.zeros((2, 2, resamples))  # sum of correlations, number of them
    for a, mine in enumerate(patterns):
        rows = values[which == a]
        for b in range(a, len(patterns)):
            among += _pairs(rows, values[which == b], mine & patterns[b], times, same=a == b)
        with_other += _pairs(rows, last[None, :], mine & ~np.isnan(last), times, same=False)
    method = METHOD.format(resamples=resamples, seed=seed)
    return MeanCorrelations(
        _interval(among), _interval(with_other), values.shape[1], resamples, seed, method
    )


def _pairs(one: Floats, two: Floats, common: Bools, times: Floats, *, same: bool) -> Floats:
    """(2, resamples): sum of the correlations of each of `one` with each of `two` on the common items, and their number."""
    weights = times[common]
    if len(weights) < 3:
        return np.zeros((2, times.shape[1]))
    x = _standard(one[:, common], weights)
    if same:
        return np.array([(_dot(x.total, x.total, weights) - x.n) / 2, x.n * (x.n - 1) / 2])
    y = _standard(two[:, common], weights)
    return np.array([_dot(x.total, y.total, weights), x.n * y.n])


def _dot(x: Floats, y: Floats, weights: Floats) -> Floats:
    product: Floats = np.einsum("ij,ij,ij->j", weights, x, y)
    return product


def _standard(rows: Floats, weights: Floats) -> _Standard:
    total, n = np.zeros(weights.shape), np.zeros(weights.shape[1])
    ties = [_tied(row) for row in rows]
    size = max(1, AT_ONCE // len(weights))
    for start in range(0, weights.shape[1], size):
        part = np.s_[start : start + size]
        some = weights[:, part].copy()
        middle = some.sum(axis=0) / 2  # mean of the ranks, less 1/2
        sums = np.zeros(some.shape)
        for group, first, order in ties:
            tied = some[order]
            if len(first) < len(order):
                tied = np.add.reduceat(tied, first, axis=0)
            ranks = np.cumsum(tied, axis=0) - tied / 2 - middle
            square = np.einsum("ij,ij,ij->j", tied, ranks, ranks)
            varies = square > 1e-9
            ranks *= np.where(varies, 1 / np.sqrt(np.where(varies, square, 1)), 0)
            sums += ranks[group]
            n[part] += varies
        total[:, part] = sums
    return _Standard(total, n)


def _tied(row: Floats) -> tuple[Ints, Ints, Ints]:
    """Each item's number of the group of equal values, where each group starts in sorted order, and that order."""
    order = np.argsort(row, kind="stable")
    begins = np.r_[True, np.diff(row[order]) > 0]
    group = np.empty(len(row), dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return group, np.flatnonzero(begins), order


def _interval(found: Floats) -> Interval | None:
    sums, numbers = found
    return spread(sums[numbers > 0] / numbers[numbers > 0]).ci95
