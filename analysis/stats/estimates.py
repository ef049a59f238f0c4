"""The estimates that every chapter uses: a share, a mean, a paired difference, a correlation. Each with n, interval, method.

A value that the numbers do not define is NaN and an interval that does not exist is None; where nothing at all can be
said, `NotEnough` is raised.
"""

import math
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special, stats

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval

Z95 = 1.959963984540054  # 97.5th percentile of the standard normal distribution

FEWEST = 3  # values or pairs of an interval
ANY, SHARES = (-np.inf, np.inf), (0.0, 1.0)  # bounds of intervals

PROPORTION = "Share of correct decisions; standard error sqrt(p(1-p)/n); Wilson 95% interval."
MEAN = "Arithmetic mean; standard deviation with n-1; 95% interval from Student's t."
PAIRED = (
    "Two-sided paired t test of the mean of x - y against 0; 95% interval from Student's t. d_av is the mean "
    "difference over the root of the mean of the two variances (n-1); d_z is the mean difference over the standard "
    "deviation of the differences."
)
MCNEMAR = (
    "Exact two-sided McNemar test (binomial on the decisions that changed); 95% interval of the difference of the "
    "two accuracies after Agresti and Min."
)
SPEARMAN = (
    "Spearman's rank correlation, ties at their mean rank; two-sided p from Student's t; 95% interval from Fisher's z "
    "with the standard error of Bonett and Wright."
)


@dataclass(frozen=True)
class Proportion:
    """Of `proportion`: all values from 0 to 1; n_correct without ties, which count half in the accuracy."""

    n: int
    n_correct: int
    accuracy: float
    sem: float
    ci95: Interval
    method: str = PROPORTION


@dataclass(frozen=True)
class Mean:
    """Of `mean_of`, in the values' unit."""

    n: int
    mean: float
    sd: float | None
    sem: float | None
    ci95: Interval | None
    method: str = MEAN


@dataclass(frozen=True)
class PairedTest:
    """Of `paired_t`: differences in the values' unit, d_av and d_z in standard deviations."""

    n: int
    mean_difference: float
    sd_difference: float
    t: float
    df: int
    p: float
    d_av: float
    d_z: float
    ci95: Interval
    method: str = PAIRED


@dataclass(frozen=True)
class McNemar:
    """Of `mcnemar`: gained and lost are numbers of items, difference is one of accuracies."""

    n: int
    gained: int
    lost: int
    difference: float
    p: float
    odds_ratio: float
    ci95: Interval
    method: str = MCNEMAR


@dataclass(frozen=True)
class Correlation:
    """Of `spearman`."""

    n: int
    rho: float
    p: float
    ci95: Interval | None
    method: str = SPEARMAN


class HasRho(Protocol):
    @property
    def rho(self) -> float: ...


AnyCorrelation = TypeVar("AnyCorrelation", bound=HasRho)


def defined(found: AnyCorrelation | None) -> AnyCorrelation | None:
    """The correlation, or None where it is NaN: one side does not vary."""
    return None if found is None or np.isnan(found.rho) else found


def proportion(is_correct: npt.ArrayLike) -> Proportion:
    """Share of correct decisions; values (n,) of 1 or True, 0 or False, 0.5 a tie; NaN (not judged) is left out.

    p = k / n; sem = sqrt(p (1 - p) / n), which is 0 where all decisions agree; ci95 is Wilson's (1927) score interval,
    which is never empty. Raises NotEnough when no value is left.

    >>> half = proportion([True, False, True, False])
    >>> half.n, half.n_correct, half.accuracy, half.sem
    (4, 2, 0.5, 0.25)
    """
    values = _known(is_correct)
    n_correct = int(np.count_nonzero(values == 1))
    return proportion_of_counts(n_correct, len(values), int(np.count_nonzero(values == 0.5)))


def proportion_of_counts(n_correct: int, n: int, n_ties: int = 0) -> Proportion:
    """`proportion` when the counts are known: n_correct of n decisions; n_ties count half. Raises NotEnough when n is 0.

    >>> proportion_of_counts(3, 4).accuracy, proportion_of_counts(0, 4, n_ties=4).accuracy
    (0.75, 0.5)
    """
    if n == 0:
        raise NotEnough("There is no decision.", "At least one is needed.")
    right = n_correct + n_ties / 2 if n_ties else n_correct
    share = right / n
    low, high = wilson(right, n)
    sem = float(np.sqrt(share * (1 - share) / n))
    return Proportion(int(n), int(n_correct), share, sem, (float(low), float(high)))


def wilson(n_correct: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Lower and upper ends of Wilson's 95% score intervals, elementwise: counts of any shape, NaN where n is 0.

    (k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2), z = 1.96 (Wilson 1927), with ends of exactly 0 and 1
    where that leaves a rounding error. Checked against SciPy's.

    >>> low, high = wilson([0, 5, 10], 10)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.0, 0.24, 0.72], [0.28, 0.76, 1.0])
    """
    k, n = np.asarray(n_correct, dtype=float), np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        share, z2 = k / n, Z95**2
        centre = share + z2 / (2 * n)
        half = Z95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2))
        low, high = (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)
    return np.where((k == 0) & (n > 0), 0.0, low), np.where((k == n) & (n > 0), 1.0, high)


def mean_of(values: npt.ArrayLike, bounds: Interval = ANY) -> Mean:
    """Mean of values (n,), in their unit; NaN is left out. sd with ddof=1, sem = sd / sqrt(n), ci95 = mean -+ t sem.

    bounds: what values can be (SHARES), beyond which ci95 does not reach. With one value sd and sem are None, below
    three ci95 is: t is 12.7 for two values. Raises NotEnough when no value is left.

    >>> three = mean_of([1, 2, 3])
    >>> three.n, three.mean, three.sd
    (3, 2.0, 1.0)
    """
    known = _known(values)
    n = len(known)
    if n == 0:
        raise NotEnough("There is no value.", "At least one is needed.")
    mean = float(known.mean())
    if n == 1:
        return Mean(1, mean, None, None, None)
    sd = float(known.std(ddof=1))
    sem = sd / float(np.sqrt(n))
    if n < FEWEST:
        return Mean(n, mean, sd, sem, None)
    low, high = _t_interval(mean, sem, n - 1)
    return Mean(n, mean, sd, sem, (max(low, bounds[0]), min(high, bounds[1])))


def paired_t(x: npt.ArrayLike, y: npt.ArrayLike) -> PairedTest:
    """Two-sided paired t test of x - y; x (n,), y (n,) or one number for all. Pairs with a NaN are left out.

    t = mean / (sd / sqrt(n)), n - 1 degrees of freedom, sd of the differences with ddof=1;
    d_av = mean / sqrt((s_x^2 + s_y^2) / 2) with ddof=1 (a single y has variance 0), which is what the paper calls
    Cohen's d; d_z = mean / sd. If all differences are equal, t, p and d_z are NaN (scipy's
    ttest_rel divides by rounding errors there). Raises NotEnough below three pairs. Checked against ttest_rel.

    >>> shift = paired_t([1, 2, 3], [0, 0, 0])
    >>> shift.mean_difference, shift.df, round(shift.t, 3), shift.d_z
    (2.0, 2, 3.464, 2.0)
    """
    first, second = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    keep = ~(np.isnan(first) | np.isnan(second))
    first, second = first[keep], second[keep]
    n = len(first)
    if n < FEWEST:
        raise NotEnough(
            f"A paired test needs at least three pairs; there {'is' if n == 1 else 'are'} {n}.",
            "Add pairs in which both values are known.",
        )
    difference = first - second
    mean, sd = float(difference.mean()), _sd(difference)
    sem = sd / float(np.sqrt(n))
    t = mean / sem if sem > 0 else np.nan
    p = 2 * float(special.stdtr(n - 1, -abs(t)))
    spread = float(np.sqrt((_sd(first) ** 2 + _sd(second) ** 2) / 2))
    d_av, d_z = (mean / s if s > 0 else np.nan for s in (spread, sd))
    return PairedTest(n, mean, sd, t, n - 1, p, d_av, d_z, _t_interval(mean, sem, n - 1))


def mcnemar(before_correct: npt.ArrayLike, after_correct: npt.ArrayLike) -> McNemar:
    """Did the share of correct decisions on the same items change? Arrays (n,) of 0 and 1; pairs with a NaN left out.

    gained: wrong before, right after; lost: the reverse. p is the exact two-sided binomial p of `gained` of
    gained + lost at 1/2, 2 P(X <= the smaller) (1 if nothing changed). difference = (gained - lost) / n; its interval adds 1/2 to each of the
    four cells and takes the Wald interval, cut to [-1, 1] (Agresti and Min 2005). odds_ratio = gained / lost, NaN if
    none was lost. Raises NotEnough when no pair is left.

    >>> change = mcnemar([1, 1, 0, 0], [1, 1, 1, 0])
    >>> change.gained, change.lost, change.difference, change.p
    (1, 0, 0.25, 1.0)
    """
    before, after = np.asarray(before_correct, dtype=float), np.asarray(after_correct, dtype=float)
    keep = ~(np.isnan(before) | np.isnan(after))
    before, after = before[keep] > 0, after[keep] > 0
    n = len(before)
    if n == 0:
        raise NotEnough("No test case was decided both times.", "At least one is needed.")
    gained = int(np.count_nonzero(~before & after))
    lost = int(np.count_nonzero(before & ~after))
    p = min(1.0, 2 * float(special.betaincc(min(gained, lost) + 1, max(gained, lost), 0.5)))
    centre = (gained - lost) / (n + 2)
    changed = (gained + lost + 1) / (n + 2)
    half = Z95 * float(np.sqrt((changed - centre**2) / (n + 2)))
    ci95 = (max(centre - half, -1.0), min(centre + half, 1.0))
    return McNemar(n, gained, lost, (gained - lost) / n, p, gained / lost if lost else np.nan, ci95)


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Correlation:
    """Spearman's rank correlation of x (n,) and y (n,); ties at their mean rank; pairs with a NaN are left out.

    p two-sided from t = rho sqrt((n-2) / (1-rho^2)); ci95 = tanh(atanh(rho) -+ 1.96 sqrt((1 + rho^2/2) / (n-3)))
    (Bonett and Wright 2000), None up to n = 3. rho and p are NaN if one side is constant. Raises NotEnough below three pairs.

    >>> spearman([1, 2, 3, 4], [1, 4, 9, 16]).rho
    1.0
    """
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    keep = ~(np.isnan(first) | np.isnan(second))
    first, second = first[keep], second[keep]
    n = len(first)
    if n < 3:
        raise NotEnough(
            f"A rank correlation needs at least three pairs; there {'is' if n == 1 else 'are'} {n}.",
            "Add test cases that both sides judged.",
        )
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return Correlation(n, np.nan, np.nan, None)
    found = scipy.stats.spearmanr(first, second)
    rho = float(found.statistic)
    if n == 3:
        return Correlation(n, rho, float(found.pvalue), None)
    if abs(rho) >= 1:
        return Correlation(n, rho, float(found.pvalue), (rho, rho))
    half = Z95 * np.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(rho) + np.array([-half, half]))
    return Correlation(n, rho, float(found.pvalue), (float(low), float(high)))


def _known(values: npt.ArrayLike) -> Floats:
    array: Floats = np.asarray(values, dtype=float).ravel()
    return array[~np.isnan(array)]


def _sd(values: Floats) -> float:
    """With ddof=1; exactly 0 where the values differ by no more than their rounding."""
    sd = float(values.std(ddof=1))
    return sd if sd > 1e-14 * float(np.abs(values).max()) else 0.0


def _t_interval(mean: float, sem: float, df: int) -> Interval:
    half = float(special.stdtrit(df, 0.975)) * sem
    return mean - half, mean + half


METHOD = (
    "Difference of two estimates treated as independent: standard errors are added in squares, with Student's t "
    "and the Welch-Satterthwaite degrees of freedom."
)


@dataclass(frozen=True)
class Sample:
    """An estimate, its standard error, and the clusters that the error was estimated from."""

    value: float
    se: float
    n_clusters: int


@dataclass(frozen=True)
class TwoSamples:
    """The second minus the first; p is two-sided."""

    difference: float
    se: float
    ci95: Interval
    p: float
    df: float
    method: str = METHOD


def two_samples(first: Sample, second: Sample) -> TwoSamples | None:
    """None where an error is unknown or nothing, or rests on one cluster.

    >>> found = two_samples(Sample(0.5, 0.03, 100), Sample(0.6, 0.04, 100))
    >>> round(found.se, 9), round(found.difference, 9), round(found.p, 3)
    (0.05, 0.1, 0.047)
    """
    both = (first, second)
    if any(not math.isfinite(s.se) or s.n_clusters < 2 for s in both):
        return None
    variances = [s.se**2 for s in both]
    if not sum(variances):
        return None
    parts = [v**2 / (s.n_clusters - 1) for v, s in zip(variances, both, strict=True)]
    se, df = math.sqrt(sum(variances)), sum(variances) ** 2 / sum(parts)
    difference = second.value - first.value
    half = float(stats.t.ppf(0.975, df)) * se
    p = 2 * float(stats.t.sf(abs(difference) / se, df))
    return TwoSamples(difference, se, (difference - half, difference + half), p, df)
