"""Uncertainty of accuracies when both the people and the items could have been others.

The pigeonhole bootstrap (Owen 2007, Ann. Appl. Stat. 1(2)) resamples participants and items with
replacement, independently; a trial counts as often as its person times its item was drawn. It is conservative: its
variance of a mean counts the noise of single trials about three times, so that in sparse data (few trials per person
and item) its intervals are up to sqrt(3) times too wide. So resampled values are brought to the two-way error of
analysis.stats.two_way_clustered, which has no such excess (`with_error`): the bootstrap gives the shape, the error the width.
Language models stay as they are: their answers are fixed, only the items vary.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from analysis.stats.arrays import Bools, Floats, Interval, Ints, without_rounding
from analysis.stats.distributions import LOST, percentile_interval
from analysis.stats.estimates import Z95
from analysis.stats.two_way_clustered import FEW, SCORE, TwoWay

CHUNK = 4_000_000  # numbers held at once per array
CACHED = 8_192  # numbers that are read again and again

METHOD = (
    "Participants and test cases are resampled together (pigeonhole bootstrap, {resamples} resamples, seed "
    "{seed}), which counts the noise of single trials three times. Before percentiles are taken, deviations are therefore scaled "
    "to the two-way error, multiplied by the ratio of the quantiles of Student's t and the normal distribution. The two-way variance is that "
    "of trials, plus what participants and test cases each have beyond it, at least 0 (for models, whose answers are fixed, "
    "only between test cases), with Student's t for the smaller number of clusters minus one. The models' mean is that of each model's "
    f"accuracy on the test cases that it decided, and so is its error. {SCORE} Where a difference, or a mean of models that decided different "
    f"test cases, is of shares with fewer than {FEW} right or fewer than {FEW} wrong decisions, each limit is the further of the resampled, or "
    "two-way, one and that of the shares' score intervals (MOVER: Zou and Donner 2008), and p is the larger of both. At least 3 "
    "participants and test cases are needed."
)


@dataclass(frozen=True)
class Resampled:
    """One row per resample, NaN where nothing was drawn that counts.

    humans: (resamples,) accuracy over trials. people_only, items_only: the same, with the other side left as it is.
    models: (resamples, models) accuracy over items, of the same draws of items as `humans`.
    """

    humans: Floats
    people_only: Floats
    items_only: Floats
    models: Floats


def crossed_bootstrap(
    participant: Ints,
    item: Ints,
    is_correct: npt.ArrayLike,
    model_correct: Floats,
    *,
    resamples: int = 10_000,
    seed: int = 42,
    chunk: int | None = None,
) -> Resampled:
    """Accuracies in resamples of participants and items; one draw of items serves the humans and all models (paired).

    humans[r] = sum_t w[r, p_t] v[r, i_t] y_t / sum_t w[r, p_t] v[r, i_t], w and v multinomial counts with equal chances.
    participant, item: (n,) numbers from 0, is_correct: (n,); participants without trials are not drawn.
    model_correct: (models, items) 1, 0, NaN not scored; its columns are the items that are drawn.
    `chunk` resamples are held at once (None: as many as 4 million numbers allow); it does not alter the result.

    >>> crossed_bootstrap(np.array([0, 1]), np.array([0, 1]), [1, 1], np.ones((1, 2)), resamples=3).models.ravel()
    array([1., 1., 1.])
    """
    people, who = np.unique(participant, return_inverse=True)
    n_people, n_items = len(people), model_correct.shape[1]
    right = np.asarray(is_correct, dtype=float)
    # (people, items) sums over the trials, without those that are 0
    correct, missed = (
        sparse.csr_array((values, (who, item)), shape=(n_people, n_items))
        for values in (right, 1 - right)
    )
    correct.eliminate_zeros()
    missed.eliminate_zeros()
    scored = np.isfinite(model_correct).T.astype(float)
    hits = np.nan_to_num(model_correct).T
    humans, people_only, items_only = np.empty((3, resamples))
    result = Resampled(humans, people_only, items_only, np.empty((resamples, hits.shape[1])))
    by_person, by_item = (
        (correct.sum(axis=axis), correct.sum(axis=axis) + missed.sum(axis=axis)) for axis in (1, 0)
    )
    chunk = chunk or max(1, min(CACHED // max(n_items, 1), CHUNK // max(n_people, n_items, 1)))
    # A stream for each of the two: `chunk` does not alter their numbers
    for_people, for_items = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    with np.errstate(invalid="ignore"):
        for start in range(0, resamples, chunk):
            size = min(chunk, resamples - start)
            w, v = times_drawn(for_people, size, n_people), times_drawn(for_items, size, n_items)
            rows = slice(start, start + size)
            # Summed over each person's trials first: the items' few weights stay in the processor's cache
            weights = np.ascontiguousarray(v.T)
            hit, miss = (np.einsum("pr,rp->r", one @ weights, w) for one in (correct, missed))
            result.humans[rows] = hit / (hit + miss)
            result.people_only[rows] = w @ by_person[0] / (w @ by_person[1])
            result.items_only[rows] = v @ by_item[0] / (v @ by_item[1])
            result.models[rows] = (v @ hits) / (v @ scored)
    return result


def times_drawn(rng: np.random.Generator, size: int, n: int) -> Floats:
    """(size, n): how often each of n was drawn in n draws with replacement, in each of `size` resamples.

    >>> times_drawn(np.random.default_rng(1), 2, 3).sum(axis=1)
    array([3., 3.])
    """
    times = np.empty((size, n))
    some = max(1, CACHED // max(n, 1))
    for start in range(0, size, some):
        few = times[start : start + some]
        drawn = rng.integers(0, max(n, 1), few.shape)
        drawn += np.arange(len(few))[:, None] * n
        few[:] = np.bincount(drawn.ravel(), minlength=few.size).reshape(few.shape)
    return times


@dataclass(frozen=True)
class Spread:
    """Standard error (ddof=1) and 95% percentile interval over the resamples that are defined; None below two, or where all are equal."""

    se: float | None
    ci95: Interval | None


def spread(values: Floats) -> Spread:
    """The 2.5th and 97.5th percentiles (linear) and the standard deviation of resampled values.

    >>> spread(np.array([1.0, 2.0, 3.0, np.nan])).se
    1.0
    """
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return Spread(None, None)
    return Spread(without_rounding(float(values.std(ddof=1))) or None, percentile_interval(values))


def with_error(values: Floats, known: TwoWay, bounds: Interval = (-1.0, 1.0)) -> Floats:
    """Resampled values with their deviations from the estimate scaled to the error that is known of it, within bounds.

    estimate + (value - estimate) x se / sd x t / 1.96, t the 97.5th percentile of Student's t with n_clusters - 1 degrees
    of freedom: Hesterberg's (2015, Am. Stat. 69) expanded percentile interval, about another standard error.
    """
    spread = float(np.nanstd(values, ddof=1)) if len(values) > 1 else 0.0
    if not known.is_known or spread <= 0:
        return values[:0] if not known.is_known else values
    t = float(special.stdtrit(known.n_clusters - 1, 0.975))
    scale = known.se / spread * t / Z95
    return np.clip(known.estimate + (values - known.estimate) * scale, *bounds)


def interval_with(values: Floats, known: TwoWay, bounds: Interval = (-1.0, 1.0)) -> Interval | None:
    """95% interval of `with_error`, and at least that of the known parts where resamples say too little (`of_parts`)."""
    resampled = with_error(values, known, bounds)
    found = spread(resampled).ci95
    if not known.from_parts or not np.isfinite(resampled).any():
        return found
    low, high = known.ci95
    ends = found or known.ci95
    return max(bounds[0], min(low, ends[0])), min(bounds[1], max(high, ends[1]))


def p_with(values: Floats, known: TwoWay) -> float | None:
    """Two-sided p of `with_error`, and at least that of the known parts."""
    p = two_sided_p(with_error(values, known, (-np.inf, np.inf)))
    return p if p is None or not known.from_parts else max(p, known.p)


def two_sided_p(values: Floats) -> float | None:
    """Twice the smaller share of resampled differences on either side of 0, (count + 1) / (resamples + 1), at most 1.

    >>> two_sided_p(np.array([1.0, 2.0, 3.0]))
    0.5
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    side = min(int((values <= 0).sum()), int((values >= 0).sum()))
    return min(1.0, 2 * (side + 1) / (len(values) + 1))


# Ranks computed in all resamples together; so many resamples, within these bounds, as that allows
MOST_RANKS, FEWEST, MOST = 20_000_000, 200, 1000
AT_ONCE = 25_000  # numbers in an array, so that it stays in the processor's cache
RANK_METHOD = (
    "95% percentile intervals from {resamples:,} resamples of test cases (seed {seed}). The same resamples are used for "
    "people and for all models, and ranks are recomputed in each. They show how the means of the same models would differ for another sample of "
    "test cases. There is no interval if more than 5% of the correlations are undefined in the resamples, because one side does not vary there."
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

    >>> found = mean_correlations([[1, 2, 3, 4], [2, 4, 6, 8]], [4, 2, 3, 1], resamples=50)
    >>> found.among, [round(end, 3) for end in found.with_other]  # the same in every resample
    (None, [-1.0, 0.767])
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
    method = RANK_METHOD.format(resamples=resamples, seed=seed)
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
    # Of each row: the items' numbers of the group of equal values, where groups start in sorted order, and that order
    ties = []
    for row in rows:
        order = np.argsort(row, kind="stable")
        begins = np.r_[True, np.diff(row[order]) > 0]
        group = np.empty(len(row), dtype=np.int64)
        group[order] = np.cumsum(begins) - 1
        ties.append((group, np.flatnonzero(begins), order))
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


def _interval(found: Floats) -> Interval | None:
    """None where more than LOST of the correlations have a side without variation in the resamples: the others are no sample of all."""
    sums, numbers = found
    if numbers.mean() < (1 - LOST) * numbers.max(initial=0):
        return None
    return spread(sums[numbers > 0] / numbers[numbers > 0]).ci95
