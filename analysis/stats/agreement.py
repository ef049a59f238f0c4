"""Do two judges find the same items hard? Rank correlations of difficulties, and how high they could be at all."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.distributions import LOST, percentile_interval

N_BOOT = 1000
SPLITS_PER_RESAMPLE = 4
CEILING = (
    "The trials of each test case with at least two trials are split at random into two halves. Reliability is "
    "Spearman's rank correlation of the halves' accuracies over test cases, averaged over splits and corrected to "
    "all trials with the Spearman-Brown formula, 2r/(1+r). The 95% percentile interval of the corrected value "
    "resamples test cases; there is none if a half is constant in more than 5% of the resamples."
)


@dataclass(frozen=True)
class Pairs:
    """The upper triangle of a matrix: mean and sd (ddof=0, as published; also ddof=1) of its defined values."""

    n_pairs: int
    mean: float
    sd: float
    sd_ddof1: float
    min: float
    max: float


@dataclass(frozen=True)
class NoiseCeiling:
    """How well people's accuracy over items agrees with itself; see `noise_ceiling`."""

    split_half_mean: float
    spearman_brown: float
    ci95: Interval | None
    n_splits: int
    n_items: int
    seed: int
    method: str = CEILING

    @property
    def is_clear(self) -> bool:
        """True if the interval of the reliability is above 0."""
        return self.ci95 is not None and self.ci95[0] > 0


def rank_correlations(difficulties: npt.ArrayLike) -> Floats:
    """Spearman's rho of every pair of rows of (judges, items), ties at their mean rank: (judges, judges).

    A pair uses the items that both have (NaN: not judged); NaN below three of them, or where a row is constant.

    >>> rank_correlations([[1, 2, 3], [2, 4, 9], [3, 2, 1]]).tolist()
    [[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    """
    by_judge = pd.DataFrame(np.asarray(difficulties, dtype=np.float64).T)
    matrix: Floats = by_judge.corr(method="spearman", min_periods=3).to_numpy(copy=True)
    diagonal = np.diag(matrix)
    np.fill_diagonal(matrix, np.where(np.isnan(diagonal), np.nan, 1.0))
    return matrix


def pairs(matrix: npt.ArrayLike) -> Pairs:
    """Summarise the pairs of different judges in a symmetric (n, n). Raises NotEnough when no pair is defined.

    >>> pairs([[1, 0.5], [0.5, 1]]).mean
    0.5
    """
    square = np.asarray(matrix, dtype=np.float64)
    values = square[np.triu_indices(len(square), k=1)]
    values = values[~np.isnan(values)]
    if not len(values):
        raise NotEnough(
            "No two judges have three test cases in common.",
            "Score the test cases with two models.",
        )
    sd_ddof1 = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    mean, sd = float(values.mean()), float(values.std())
    return Pairs(len(values), mean, sd, sd_ddof1, float(values.min()), float(values.max()))


def noise_ceiling(
    n_correct: npt.ArrayLike, n_trials: npt.ArrayLike, *, n_splits: int = 1000, seed: int = 42
) -> NoiseCeiling:
    """Split-half reliability of item accuracies, from counts (items,) of correct trials and of trials.

    With k of n trials correct, a random half of floor(n/2) trials holds a hypergeometric number of correct ones: that
    is drawn, so that a million trials cost no more than a thousand. r is the mean of Spearman's rho over the splits,
    the reliability of all trials 2r / (1 + r) (Spearman 1910, Brown 1910). A correlation with these accuracies cannot,
    on average, exceed the root of it. Splits in which a half is constant are left out. Raises NotEnough below three
    items with two trials, or where no split has two halves that vary.

    >>> sure = noise_ceiling([0, 4, 0, 4], [4, 4, 4, 4], n_splits=10)
    >>> sure.split_half_mean, sure.spearman_brown
    (1.0, 1.0)
    """
    k, n = np.asarray(n_correct).astype(np.int64), np.asarray(n_trials).astype(np.int64)
    k, n = k[n >= 2], n[n >= 2]
    if len(n) < 3:
        raise NotEnough(
            "Fewer than three test cases were judged at least twice.",
            "Let more participants finish the study.",
        )
    rng = np.random.default_rng(seed)
    half = n // 2
    first = rng.hypergeometric(k, n - k, half, size=(n_splits, len(n)))  # (splits, items)
    one, two = first / half, (k - first) / (n - half)
    r = _row_correlations(scipy.stats.rankdata(one, axis=1), scipy.stats.rankdata(two, axis=1))
    if np.isnan(r).all():
        raise NotEnough(
            "People's accuracy is the same on every test case.",
            "Let more participants finish the study.",
        )
    mean = float(np.nanmean(r))
    total = np.zeros(N_BOOT)
    items = rng.integers(0, len(n), (N_BOOT, len(n)))
    for _ in range(SPLITS_PER_RESAMPLE):
        split = rng.integers(0, n_splits, (N_BOOT, 1))
        ranks = (scipy.stats.rankdata(half_of[split, items], axis=1) for half_of in (one, two))
        total += _row_correlations(*ranks)
    means = total[~np.isnan(total)] / SPLITS_PER_RESAMPLE
    # If a half is often constant, the resamples in which none is are no sample of all
    ends = percentile_interval(means) if len(means) >= (1 - LOST) * N_BOOT else None
    ci95 = ends and (spearman_brown(ends[0]), spearman_brown(ends[1]))
    return NoiseCeiling(mean, spearman_brown(mean), ci95, n_splits, len(n), seed)


def spearman_brown(r: float) -> float:
    """Reliability of a measure twice as long, 2r / (1 + r); below 0, where the formula runs to -inf, 2r / (1 - r).

    So it is in [-1, 1] for every r in it, and rises with r.

    >>> spearman_brown(0.5).__round__(3), spearman_brown(-0.5).__round__(3), spearman_brown(-1.0)
    (0.667, -0.667, -1.0)
    """
    return 2 * r / (1 + abs(r))


def corrected(rho: float, halves: NoiseCeiling) -> float | None:
    """A correlation freed of the noise of one side, rho / sqrt(reliability).

    None where the reliability is not clearly above 0, since its root divides, or the quotient is no correlation.

    >>> clear = NoiseCeiling(1 / 7, 0.25, (0.04, 0.5), 1000, 20, 42)
    >>> unclear = NoiseCeiling(1 / 7, 0.25, (-0.1, 0.5), 1000, 20, 42)
    >>> corrected(0.2, clear), corrected(0.2, unclear), corrected(0.6, clear)
    (0.4, None, None)
    """
    if not halves.is_clear:
        return None
    freed = rho / float(np.sqrt(halves.spearman_brown))
    return freed if abs(freed) <= 1 else None


def _row_correlations(x: Floats, y: Floats) -> Floats:
    """Pearson's r over the last axis; NaN where a side is constant. A seventh of the time of scipy's pearsonr, which tests too."""
    x, y = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    size = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        r: Floats = np.where(size > 0, (x * y).sum(axis=-1) / np.where(size > 0, size, 1), np.nan)
    return r
