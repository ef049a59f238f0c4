"""Is confidence worth anything? Accuracy along the rank of confidence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import ROUNDING, Floats, Interval, Ints, with_width
from analysis.stats.estimates import Z95, proportion_of_counts
from analysis.stats.two_way_clustered import FEWEST_CLUSTERS, covariance

BIN_RULE = (
    "Judgments are ranked from 0 to n-1 by confidence, equal ones in stored order, and divided into half-open bins "
    "with equally spaced edges on [0, n]."
)
SAME = ("All confidences are the same.", "Confidence must vary.")
BINNED = (
    "Least-squares line of the bins' accuracy on their midpoints in rank units, with equal weights; two-sided p "
    "and 95% interval of the slope from Student's t with bins-2 degrees of freedom."
)


@dataclass(frozen=True)
class Bin:
    """Judgements of neighbouring ranks: midpoint in ranks, accuracy with a binomial interval, the scores at its ends."""

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
    """Result of `binned`: the line's slope is accuracy per rank of n."""

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
            f"{n_bins} bins need at least {n_bins} judgments with a confidence; there are {n}.",
            "Collect more judgments.",
        )
    if np.ptp(values) == 0:
        raise NotEnough(*SAME)
    order = np.argsort(values, kind="stable")
    values, right = values[order], right[order]
    place = np.arange(n) * n_bins // n
    counts = np.bincount(place)
    correct = np.bincount(place, weights=right).astype(np.int64)
    ends = np.cumsum(counts)
    shares = map(proportion_of_counts, correct.tolist(), counts.tolist())
    bins = tuple(
        Bin(
            bin=k,
            midpoint=(k + 0.5) * (n / n_bins),
            n=share.n,
            n_correct=share.n_correct,
            accuracy=share.accuracy,
            sem=share.sem,
            ci95=share.ci95,
            score_low=float(values[ends[k] - counts[k]]),
            score_high=float(values[ends[k] - 1]),
        )
        for k, share in enumerate(shares)
    )
    middles, accuracies = ([getattr(b, name) for b in bins] for name in ("midpoint", "accuracy"))
    return Binned(n, bins, line(middles, accuracies))


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Line:
    """Least-squares line y = intercept + slope x through (m,) points, m >= 3; p two-sided; r and p NaN for level y, p also without any residual.

    >>> line([0, 1, 2], [1, 3, 5]).slope
    2.0
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if np.ptp(ys) == 0:
        return Line(0.0, float(ys[0]), np.nan, np.nan, 0.0, 0.0, None)
    fit = scipy.stats.linregress(xs, ys)
    half = float(special.stdtrit(len(xs) - 2, 0.975)) * fit.stderr
    slope_ci95 = with_width(fit.slope - half, fit.slope + half)
    return Line(
        slope=float(fit.slope),
        intercept=float(fit.intercept),
        r=float(fit.rvalue),
        p=float(fit.pvalue) if slope_ci95 else np.nan,
        slope_se=float(fit.stderr),
        intercept_se=float(fit.intercept_stderr),
        slope_ci95=slope_ci95,
    )


def scored(score: npt.ArrayLike, is_correct: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Scores and correctness (0 or 1) of the judgements that have both, in the order given.

    >>> [values.tolist() for values in scored([3, np.nan], [True, False])]
    [[3.0], [1.0]]
    """
    values, right = np.asarray(score, dtype=float), np.asarray(is_correct, dtype=float)
    keep = ~(np.isnan(values) | np.isnan(right))
    return values[keep], right[keep]


ERROR = (
    "Expected calibration error: |accuracy - mean probability| of each bin, averaged with the bins' numbers of "
    "judgments as weights. It is above 0 even for perfect calibration: `when_calibrated` is its mean and "
    "`when_calibrated_q975` its 97.5th percentile if it is the noise alone that the interval takes from the clusters. The interval starts at 0 if "
    "the error is not above that percentile."
)
INTERVAL = (
    "The 95% interval inverts a test. The bins' observed deviations (accuracy minus mean probability) are multiplied by a "
    "common factor, and errors are simulated for each factor. The interval contains the error of every multiple for which "
    "the observed error lies between the 2.5th and 97.5th percentile of {resamples:,} simulated errors "
    "(seed {seed}, normal noise of the bins with covariance robust to clusters of {units}). The observed "
    "and the simulated errors therefore have the same upward bias. If necessary, the interval is widened to include the observed error. An error that "
    "is smaller than chance alone makes it (below its 2.5th percentile) is reached by no multiple; the interval then ends at the sum of the error and "
    "the 97.5th percentile of chance."
)
N_RESAMPLES = 1000
LOWER, UPPER = 0.025, 0.975
STEPS = 16  # halvings of the multiple at which the value is a quantile


@dataclass(frozen=True)
class CalibrationError:
    """Result of `calibration_error`, in units of accuracy; when_calibrated: its mean and 97.5th percentile were chance the only error.

    Without an interval nothing says how large chance is, so both are None too.
    """

    value: float
    ci95: Interval | None
    n: int
    n_bins: int
    mean_probability: float
    accuracy: float
    when_calibrated: float | None
    when_calibrated_q975: float | None
    resamples: int
    seed: int
    rule: str
    ci_method: str
    method: str = ERROR


def calibration_error(
    probability: npt.ArrayLike,
    is_correct: npt.ArrayLike,
    *clusters: npt.ArrayLike,
    units: str = "judgements",
    low: float = 0.0,
    n_bins: int = 20,
    seed: int = 42,
) -> CalibrationError:
    """Expected calibration error of probabilities (n,) of being correct in n_bins bins of equal width on [low, 1].

    sum over bins of n_b / n |accuracy_b - mean probability_b|; bins are half-open, the last closed; the unit is that of
    accuracy. Judgements without a probability (NaN) are left out. `clusters`: none, or one or two numberings (n,) of what
    judgements share, called `units` in the method; the interval is for others of these, see INTERVAL. None below three
    of one of them.
    Raises NotEnough when no judgement is left.

    >>> calibration_error([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).value.__round__(9)
    0.15
    """
    values, right = scored(probability, is_correct)
    n = len(values)
    if n == 0:
        raise NotEnough("No judgment has a probability.", "At least one is needed.")
    place = equal_width_bins(values, low, n_bins)
    counts, stated, correct = (np.bincount(place, weights=w) for w in (None, values, right))
    filled = counts > 0
    counts, stated, correct = counts[filled], stated[filled], correct[filled]
    value = float(np.abs(correct - stated).sum() / n)
    known = ~np.isnan(np.asarray(probability, float) + np.asarray(is_correct, float))
    groups = [np.asarray(labels)[known] for labels in clusters] or [np.arange(n)]
    columns = bin_columns(place, right - values, n_bins)
    noise = error_noise(columns, groups, np.random.default_rng(seed))
    calibrated = None if noise is None else np.abs(noise).sum(axis=1)
    return CalibrationError(
        value=value,
        ci95=None if noise is None else error_interval(columns.mean(axis=0), noise, value),
        n=n,
        n_bins=n_bins,
        mean_probability=float(values.mean()),
        accuracy=float(right.mean()),
        when_calibrated=None if calibrated is None else float(calibrated.mean()),
        when_calibrated_q975=None if calibrated is None else float(np.quantile(calibrated, UPPER)),
        resamples=N_RESAMPLES,
        seed=seed,
        rule=f"{n_bins} bins of equal width on [{low:g}, 1]; those without judgments have no weight",
        ci_method=INTERVAL.format(resamples=N_RESAMPLES, units=units, seed=seed),
    )


def equal_width_bins(values: Floats, low: float, n_bins: int) -> Ints:
    """(n,) the bin of each value in [low, 1]: half-open, the last closed. A value within rounding of an edge is above it.

    >>> equal_width_bins(np.array([0.0, 0.3, 1.0]), 0.0, 10)  # 0.3 / 0.1 is a little below 3
    array([0, 3, 9])
    """
    place = np.floor((values - low) * n_bins / (1 - low) + 1e-9)
    return np.clip(place, 0, n_bins - 1).astype(np.int64)


def bin_columns(place: Ints, excess: Floats, n_bins: int) -> Floats:
    """(n, n_bins) each judgement's correct - probability in the column of its bin."""
    columns = np.zeros((len(place), n_bins))
    columns[np.arange(len(place)), place] = excess
    return columns


def error_noise(
    columns: Floats, clusters: Sequence[npt.ArrayLike], rng: np.random.Generator
) -> Floats | None:
    """(N_RESAMPLES, bins) by how much chance moves d_b, the means of columns (n, bins) of correct - probability; None below 3 clusters.

    From N(0, S), with S the covariance of d that is robust to the clusters, times t^2 / 1.96^2 (Student's t of the smaller number of
    clusters less one). None, too, where the d_b are the same in each cluster: nothing varies, which says nothing of other clusters.
    """
    groups = [np.unique(np.asarray(labels), return_inverse=True)[1].ravel() for labels in clusters]
    n_clusters = min((int(group.max(initial=-1)) + 1 for group in groups), default=0)
    if n_clusters < FEWEST_CLUSTERS:
        return None
    off = columns.mean(axis=0)
    spread = covariance((columns - off) / len(columns), groups)
    if np.sqrt(np.diag(spread)).max() <= ROUNDING:
        return None
    t = float(special.stdtrit(n_clusters - 1, 0.975)) / Z95
    values, vectors = np.linalg.eigh(spread)
    root = vectors * np.sqrt(np.maximum(values, 0)) * t
    return np.asarray(rng.standard_normal((N_RESAMPLES, len(off))) @ root.T)


def error_interval(off: Floats, noise: Floats, value: float) -> Interval:
    """95% interval of value = sum_b |d_b|, `off` the d_b (bins,), whose `error_noise` is e_r (resamples, bins).

    The multiples c of d for which the value lies between the 2.5th and 97.5th percentiles of sum_b |c d_b + e_rb|; the
    interval is [c_low value, c_high value]. From 0 where the value is no more than chance gives. At the low end d_b is
    taken less one standard error, at least 0, and c times its sum is the end. A value below the 2.5th percentile of sum_b |e_rb|
    is of no multiple: since sum_b |d_b - e_b| <= sum_b |d_b| + sum_b |e_b|, it then ends at value + their 97.5th percentile.

    >>> off = np.repeat([[0.2, 0.0], [0.0, 0.1]], 50, axis=0)
    >>> noise = error_noise(off, [np.arange(100) % 8], np.random.default_rng(1))
    >>> tuple(round(end, 3) for end in error_interval(off.mean(axis=0), noise, 0.15))
    (0.147, 0.152)
    >>> error_noise(off, [np.arange(100) % 5], np.random.default_rng(1))  # the same in each cluster
    """
    # Chance spreads an error over more bins than it has, and spread it adds less to noise: the low end is of what stands out
    clear = np.sign(off) * np.maximum(0.0, np.abs(off) - noise.std(axis=0))
    low, high = _reach(clear, noise, value, UPPER), _reach(off, noise, value, LOWER)
    by_chance = np.abs(noise).sum(axis=1)
    if value < np.quantile(by_chance, LOWER):
        high = value + float(np.quantile(by_chance, UPPER))
    return min(low, value), max(min(high, 1.0), value)


def _reach(pattern: Floats, noise: Floats, value: float, quantile: float) -> float:
    """The error of that multiple of `pattern` at which the value is that quantile; 0 where it is below it at none."""
    size = float(np.abs(pattern).sum())

    def simulated(c: float) -> float:
        return float(np.quantile(np.abs(c * pattern + noise).sum(axis=1), quantile))

    if size <= 0 or simulated(0.0) >= value:
        return 0.0
    low, high = 0.0, 2 * value / size
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if simulated(middle) < value else (low, middle)
    return high * size
