"""Is confidence worth anything? Accuracy along the rank of confidence."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.estimates import proportion_of_counts

BIN_RULE = (
    "Judgements ranked from 0 to n-1 by confidence, equal ones in stored order; half-open bins between equally spaced "
    "edges on [0, n]."
)
BINNED = (
    "Least-squares line of the bins' accuracy on their midpoints in rank units, bins weighted alike; two-sided p and "
    "95% interval of the slope from Student's t with bins-2 degrees of freedom."
)


@dataclass(frozen=True)
class Bin:
    """Judgements of neighbouring ranks: midpoint in ranks, accuracy with Wilson's interval, the scores at its ends."""

    bin: int
    midpoint: float
    n: int
    n_correct: int
    accuracy: float
    sem: float
    ci95: Interval
    score_low: float
    score_high: float


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x, with standard errors; p and the interval from Student's t with m - 2 degrees of freedom."""

    slope: float
    intercept: float
    r: float
    p: float
    slope_se: float
    intercept_se: float
    slope_ci95: Interval | None


@dataclass(frozen=True)
class Binned:
    """Of `binned`: the line's slope is accuracy per rank of n."""

    n: int
    bins: tuple[Bin, ...]
    line: Line
    bin_rule: str = BIN_RULE
    method: str = BINNED


def binned(score: npt.ArrayLike, is_correct: npt.ArrayLike, n_bins: int = 20) -> Binned:
    """Accuracy in n_bins bins along the ranks of score (n,), and the line through the bins (paper, figure 4).

    Ordinal ranks 0..n-1, ties in the order given; rank i falls in bin floor(i n_bins / n); the midpoint of bin k is
    (k + 1/2) n / n_bins, in ranks; so the slope is accuracy per rank. Judgements without a score (NaN) are left out.
    Raises NotEnough with fewer judgements than bins or when all scores are the same, ValueError below three bins.

    >>> rising = binned([1, 2, 3, 4, 5, 6], [False, False, True, False, True, True], n_bins=3)
    >>> [b.accuracy for b in rising.bins], [b.midpoint for b in rising.bins], round(rising.line.slope, 9)
    ([0.0, 0.5, 1.0], [1.0, 3.0, 5.0], 0.25)
    """
    if n_bins < 3:
        raise ValueError("a line needs at least three bins")
    values, right = scored(score, is_correct)
    n = len(values)
    if n < n_bins:
        raise NotEnough(
            f"{n_bins} bins need at least {n_bins} judgements with a confidence; there are {n}.",
            "Let more judgements be made.",
        )
    if np.ptp(values) == 0:
        raise NotEnough(
            "All confidences are the same.", "Confidence must vary to say anything about accuracy."
        )
    order = np.argsort(values, kind="stable")
    values, right = values[order], right[order]
    place = np.arange(n) * n_bins // n
    counts = np.bincount(place)
    correct = np.bincount(place, weights=right).astype(np.int64)
    ends = np.cumsum(counts)
    bins = tuple(
        _bin(k, n / n_bins, counts[k], correct[k], values[ends[k] - counts[k]], values[ends[k] - 1])
        for k in range(n_bins)
    )
    middles, accuracies = ([getattr(b, name) for b in bins] for name in ("midpoint", "accuracy"))
    return Binned(n, bins, line(middles, accuracies))


def _bin(k: int, width: float, n: np.int64, correct: np.int64, low: float, high: float) -> Bin:
    share = proportion_of_counts(int(correct), int(n))
    return Bin(
        bin=k,
        midpoint=(k + 0.5) * width,
        n=share.n,
        n_correct=share.n_correct,
        accuracy=share.accuracy,
        sem=share.sem,
        ci95=share.ci95,
        score_low=float(low),
        score_high=float(high),
    )


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Line:
    """Least-squares line y = intercept + slope x through (m,) points, m >= 3; p two-sided; r and p NaN for level y.

    >>> line([0, 1, 2], [1, 3, 5]).slope
    2.0
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if np.ptp(ys) == 0:
        return Line(0.0, float(ys[0]), np.nan, np.nan, 0.0, 0.0, None)
    fit = scipy.stats.linregress(xs, ys)
    half = float(special.stdtrit(len(xs) - 2, 0.975)) * fit.stderr
    return Line(
        slope=float(fit.slope),
        intercept=float(fit.intercept),
        r=float(fit.rvalue),
        p=float(fit.pvalue),
        slope_se=float(fit.stderr),
        intercept_se=float(fit.intercept_stderr),
        slope_ci95=(float(fit.slope - half), float(fit.slope + half)),
    )


def scored(score: npt.ArrayLike, is_correct: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Scores and correctness (0 or 1) of the judgements that have both, in the order given.

    >>> [values.tolist() for values in scored([3, np.nan], [True, False])]
    [[3.0], [1.0]]
    """
    values, right = np.asarray(score, dtype=float), np.asarray(is_correct, dtype=float)
    keep = ~(np.isnan(values) | np.isnan(right))
    return values[keep], right[keep]
