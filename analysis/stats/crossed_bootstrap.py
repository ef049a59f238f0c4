"""Uncertainty of accuracies when both the people and the items could have been others.

The pigeonhole bootstrap (Owen 2007, Ann. Appl. Stat. 1(2)) resamples participants and items with
replacement, independently; a trial counts as often as its person times its item was drawn. It is conservative: its
variance of a mean counts the noise of single trials about three times, so that in sparse data (few trials per person
and item) its intervals are up to sqrt(3) times too wide. So resampled values are brought to the two-way error of
analysis.stats.two_way_clustered, which has no such excess (`with_error`): the bootstrap gives the shape, the error the width.
Language models stay as they are: their answers are fixed, only the items vary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from analysis.stats.arrays import Floats, Interval, Ints
from analysis.stats.distributions import percentile_interval
from analysis.stats.estimates import Z95
from analysis.stats.two_way_clustered import TwoWay

CHUNK = 4_000_000  # numbers held at once per array
CACHED = 8_192  # numbers that are read again and again

METHOD = (
    "Participants and items resampled together (pigeonhole bootstrap, {resamples} resamples, seed {seed}), which counts "
    "the noise of single trials three times; so deviations are scaled to the two-way error, times Student's t over the "
    "normal quantile, and percentiles taken. Two-way: variance between participants + items - trials (of models, whose "
    "answers are fixed, between items), Student's t with the smaller number of clusters less one; of shares Wilson's score "
    "interval of as many independent decisions as have that error. None below 3 participants or items."
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
    correct, missed = (
        _table(who, item, values, (n_people, n_items)) for values in (right, 1 - right)
    )
    scored = np.isfinite(model_correct).T.astype(float)
    hits = np.nan_to_num(model_correct).T
    humans, people_only, items_only = np.empty((3, resamples))
    result = Resampled(humans, people_only, items_only, np.empty((resamples, hits.shape[1])))
    by_person, by_item = (
        (correct.sum(axis=axis), correct.sum(axis=axis) + missed.sum(axis=axis)) for axis in (1, 0)
    )
    chunk = chunk or max(1, min(CACHED // max(n_items, 1), CHUNK // max(n_people, n_items, 1)))
    with np.errstate(invalid="ignore"):
        for rows, w, v in _draws(n_people, n_items, resamples, seed, chunk):
            # Summed over each person's trials first: the items' few weights stay in the processor's cache
            weights = np.ascontiguousarray(v.T)
            hit, miss = (np.einsum("pr,rp->r", one @ weights, w) for one in (correct, missed))
            result.humans[rows] = hit / (hit + miss)
            result.people_only[rows] = w @ by_person[0] / (w @ by_person[1])
            result.items_only[rows] = v @ by_item[0] / (v @ by_item[1])
            result.models[rows] = (v @ hits) / (v @ scored)
    return result


def _table(who: Ints, item: Ints, values: Floats, shape: tuple[int, int]) -> sparse.csr_array:
    """(people, items) sums of the trials' values, without those that are 0."""
    table = sparse.csr_array((values, (who, item)), shape=shape)
    table.eliminate_zeros()
    return table


def _draws(
    n_people: int, n_items: int, resamples: int, seed: int, chunk: int
) -> Iterator[tuple[slice, Floats, Floats]]:
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)]
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        w, v = (times_drawn(r, size, n) for r, n in zip(streams, (n_people, n_items), strict=True))
        yield slice(start, start + size), w, v


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
    """Standard error (ddof=1) and 95% percentile interval over the resamples that are defined; None below two."""

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
    return Spread(float(values.std(ddof=1)), percentile_interval(values))


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
