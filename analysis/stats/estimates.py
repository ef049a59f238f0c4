"""The estimates that every chapter uses: a share, a mean, a paired difference, a correlation. Each with n, interval, method.

A value that the numbers do not define is NaN and an interval that does not exist is None; where nothing at all can be
said, `NotEnough` is raised.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special, stats

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval, Ints, with_width
from analysis.stats.score_intervals import with_ties
from analysis.stats.two_way_clustered import FEW
from lib.levels import LEVEL
from lib.points import RIGHT, TIE, error_of_mean, mean_point

Z95 = 1.959963984540054  # 97.5th percentile of the standard normal distribution

FEWEST = 3  # values or pairs of an interval
ANY, SHARES = (-np.inf, np.inf), (0.0, 1.0)  # bounds of intervals

PROPORTION = (
    "Share of correct decisions, in which a tie counts half; standard error: the points' standard deviation (with n) over "
    "sqrt(n), without ties sqrt(p(1-p)/n). 95% score interval: Wilson's without ties, with ties Tango's for right minus wrong. "
    f"With fewer than {FEW} right or fewer than {FEW} wrong decisions, and no ties, Clopper and Pearson's exact interval."
)
MEAN = "Arithmetic mean; standard deviation with n-1; 95% interval from Student's t."
PAIRED = (
    "Two-sided paired t test of the mean of x - y against 0; 95% interval from Student's t. d_av is the mean "
    "difference over the root of the mean of the two variances (n-1); d_z is the mean difference over the standard "
    "deviation of the differences."
)
MCNEMAR = (
    "Exact two-sided McNemar test (binomial on the decisions that changed; where some changed by half, from or to a tie, "
    "the exact test in which the sign of each change is a coin toss); 95% interval of the difference of the two accuracies "
    "after Agresti and Min. The two agree: the interval also holds 0 if the test does not reject at 0.05, and p is at least "
    "0.05 if the interval holds 0."
)
EXACT = 8  # pairs whose permutations are all counted
SPEARMAN = (
    f"Spearman's rank correlation, ties at their mean rank; two-sided p from all permutations up to {EXACT} pairs, otherwise from Student's t, "
    "but never below the chance of the observed pairing among all permutations; 95% interval from Fisher's z with the standard error of Bonett "
    "and Wright. The two agree: the interval also holds 0 if p is at least 0.05, and p is at least 0.05 if the interval holds 0."
)


@dataclass(frozen=True)
class Proportion:
    """Result of `proportion`: all values from 0 to 1. Of n decisions n_correct are right and n_ties tied; the others are wrong."""

    n: int
    n_correct: int
    n_ties: int
    accuracy: float
    sem: float
    ci95: Interval
    method: str = PROPORTION


@dataclass(frozen=True)
class Mean:
    """Result of `mean_of`, in the values' unit."""

    n: int
    mean: float
    sd: float | None
    sem: float | None
    ci95: Interval | None
    method: str = MEAN


@dataclass(frozen=True)
class PairedTest:
    """Result of `paired_t`: differences in the values' unit, d_av and d_z in standard deviations."""

    n: int
    mean_difference: float
    sd_difference: float
    t: float
    df: int
    p: float
    d_av: float
    d_z: float
    ci95: Interval | None
    method: str = PAIRED


@dataclass(frozen=True)
class McNemar:
    """Result of `mcnemar`: gained and lost are numbers of items that count more, or less, by 1 or by 1/2; difference is one of accuracies.

    odds_ratio: points gained over points lost.
    """

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
    """Result of `spearman`."""

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


def proportion(points: npt.ArrayLike) -> Proportion:
    """Share of correct decisions; points (n,) of 1 or True, 0 or False, 0.5 a tie; NaN (not judged) is left out.

    p = mean of the points; sem = their standard deviation over sqrt(n), which is 0 where all decisions agree; ci95 is that of
    `binomial_interval`, with ties of `score_interval`, which are never empty. Raises NotEnough when no value is left.

    >>> half = proportion([True, False, True, False])
    >>> half.n, half.n_correct, half.accuracy, half.sem
    (4, 2, 0.5, 0.25)
    """
    values = _known(points)
    n_correct, n_ties = (int(np.count_nonzero(values == point)) for point in (RIGHT, TIE))
    return proportion_of_counts(n_correct, len(values), n_ties)


def proportion_of_counts(n_correct: int, n: int, n_ties: int = 0) -> Proportion:
    """`proportion` when the counts are known: n_correct of n decisions; n_ties count half. Raises NotEnough when n is 0.

    >>> proportion_of_counts(3, 4).accuracy, proportion_of_counts(0, 4, n_ties=4).accuracy
    (0.75, 0.5)
    """
    if n == 0:
        raise NotEnough("There is no decision.", "At least one is needed.")
    counts = int(n_correct), int(n), int(n_ties)
    return Proportion(
        n=counts[1],
        n_correct=counts[0],
        n_ties=counts[2],
        accuracy=mean_point(*counts),
        sem=error_of_mean(*counts),
        ci95=score_interval(*counts) if n_ties else _pair(binomial_interval(*counts[:2])),
    )


def score_interval(n_correct: int, n: int, n_ties: int = 0) -> Interval:
    """95% interval of the accuracy whose n decisions are n_correct right, n_ties tied and the others wrong.

    Tango's (`score_intervals.with_ties`), which without ties is Wilson's, and is computed as that.

    >>> [round(end, 3) for end in score_interval(44, 199, n_ties=101)]
    [0.426, 0.524]
    >>> [round(end, 3) for end in score_interval(0, 20, n_ties=20)]
    [0.419, 0.581]
    """
    if n_ties:
        return with_ties(n_correct, n, n_ties, Z95)
    return _pair(wilson(n_correct, n))


def binomial_interval(n_correct: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Lower and upper ends of 95% intervals of shares of independent decisions, elementwise: counts of any shape, NaN where n is 0.

    Wilson's, which hold the truth in 93 to 98% of samples where 5 and more are right and 5 and more are wrong, but in as few as 86%
    of those of 15 of which 95% are right. With fewer of either kind, Clopper and Pearson's (1934): the p at which P(X >= k), or P(X <= k), is .025.

    >>> low, high = binomial_interval([0, 9, 10, 20], [10, 10, 10, 40])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.555, 0.692, 0.352], [0.308, 0.997, 1.0, 0.648])
    """
    k, n = np.asarray(n_correct, dtype=float), np.asarray(n, dtype=float)
    usual, few = wilson(k, n), (n > 0) & (np.minimum(k, n - k) < FEW)
    # Beta distributions with a parameter of 0 are not defined, and the ends are known there
    low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - k + 1, 0.025), 0.0)
    high = np.where(k < n, special.betaincinv(k + 1, np.maximum(n - k, 1), 0.975), 1.0)
    return np.where(few, low, usual[0]), np.where(few, high, usual[1])


def _pair(ends: tuple[Floats, Floats]) -> Interval:
    return float(ends[0]), float(ends[1])


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
    three ci95 is: t is 12.7 for two values. Nor have values an interval that are all equal, which do not tell how others vary. Raises NotEnough when no value is left.

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
    return Mean(n, mean, sd, sem, with_width(max(low, bounds[0]), min(high, bounds[1])))


def paired_t(x: npt.ArrayLike, y: npt.ArrayLike) -> PairedTest:
    """Two-sided paired t test of x - y; x (n,), y (n,) or one number for all. Pairs with a NaN are left out.

    t = mean / (sd / sqrt(n)), n - 1 degrees of freedom, sd of the differences with ddof=1;
    d_av = mean / sqrt((s_x^2 + s_y^2) / 2) with ddof=1 (a single y has variance 0), which is what the paper calls
    Cohen's d; d_z = mean / sd. If all differences are equal, t, p and d_z are NaN and ci95 is None (scipy's
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
            f"A paired test needs at least three pairs of which both values are known; there {'is' if n == 1 else 'are'} {n}.",
            "Collect more data.",
        )
    difference = first - second
    mean, sd = float(difference.mean()), _sd(difference)
    sem = sd / float(np.sqrt(n))
    t = mean / sem if sem > 0 else np.nan
    p = 2 * float(special.stdtr(n - 1, -abs(t)))
    spread = float(np.sqrt((_sd(first) ** 2 + _sd(second) ** 2) / 2))
    d_av, d_z = (mean / s if s > 0 else np.nan for s in (spread, sd))
    ci95 = _t_interval(mean, sem, n - 1) if sem > 0 else None
    return PairedTest(n, mean, sd, t, n - 1, p, d_av, d_z, ci95)


def mcnemar(before: npt.ArrayLike, after: npt.ArrayLike) -> McNemar:
    """Did the accuracy on the same items change? Points (n,) of 0, 1/2 (a tie) and 1; pairs with a NaN left out.

    gained: items that count more after than before; lost: less. With d = after - before, p is the share of all ways to set the
    signs of the d that are not 0 whose sum is as far from 0 as the observed one: without halves the exact two-sided
    binomial p of `gained` of gained + lost at 1/2, 2 P(X <= the smaller) (1 if nothing changed). difference = mean of d; its
    interval adds 1/2 to each of the four cells and takes the Wald interval, cut to [-1, 1] (Agresti and Min 2005). That is
    surer than the exact test, so p and it are made `agreeing`.
    odds_ratio = sum of the d above 0 over that of those below, without halves gained / lost; NaN if none was lost. Raises NotEnough
    when no pair is left.

    >>> change = mcnemar([1, 1, 0, 0], [1, 1, 1, 0])
    >>> change.gained, change.lost, change.difference, change.p
    (1, 0, 0.25, 1.0)
    >>> mcnemar([0, 0, 0, 0], [0.5, 0.5, 1, 0]).p
    0.25
    >>> mcnemar([0, 0, 1], [1, 1, 0.5]).odds_ratio
    4.0
    """
    change = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    change = change[~np.isnan(change)]
    n = len(change)
    if n == 0:
        raise NotEnough("No test case was decided both times.", "At least one is needed.")
    gained, lost = int(np.count_nonzero(change > 0)), int(np.count_nonzero(change < 0))
    centre = float(change.sum()) / (n + 2)
    changed = (float((change**2).sum()) + 1) / (n + 2)
    half = Z95 * float(np.sqrt((changed - centre**2) / (n + 2)))
    low, high = max(centre - half, -1.0), min(centre + half, 1.0)
    # Signs are tosses of a coin; a change is of 1 or, from or to a tie, of 1/2
    whole, halves = (change[np.abs(change) == size] for size in (1, 0.5))
    if len(halves):
        parts = (whole, halves)
        heads = [np.arange(len(part) + 1) for part in parts]
        sums = 2 * (2 * heads[0][:, None] - len(whole)) + (2 * heads[1] - len(halves))
        chance = np.multiply.outer(
            *(stats.binom.pmf(k, len(part), 0.5) for k, part in zip(heads, parts, strict=True))
        )
        p = float(chance[np.abs(sums) >= abs(2 * change.sum())].sum())
    else:
        fewer = min((whole > 0).sum(), (whole < 0).sum())
        p = 2 * float(special.betaincc(fewer + 1, len(whole) - fewer, 0.5))
    p, (low, high) = agreeing(min(1.0, p), low, high)
    ratio = float(change.clip(0).sum() / -change.clip(max=0).sum()) if lost else np.nan
    return McNemar(n, gained, lost, float(change.mean()), p, ratio, (low, high))


def agreeing(p: float, low: float, high: float) -> tuple[float, Interval]:
    """A test's p and the interval of another method, made so that neither finds what the other does not.

    The interval is widened to 0 where p >= .05; where the interval held 0, p is raised to .05. NaN stays.

    >>> agreeing(0.06, 0.1, 0.3), agreeing(0.04, -0.1, 0.3), agreeing(0.01, 0.1, 0.3)
    ((0.06, (0.0, 0.3)), (0.05, (-0.1, 0.3)), (0.01, (0.1, 0.3)))
    """
    if low <= 0 <= high:
        return (LEVEL if p < LEVEL else p), (low, high)
    return p, (min(low, 0.0), max(high, 0.0)) if p >= LEVEL else (low, high)


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Correlation:
    """Spearman's rank correlation of x (n,) and y (n,); ties at their mean rank; pairs with a NaN are left out.

    p two-sided: to n = EXACT the share of permutations with a |rho| as large, then from t = rho sqrt((n-2) / (1-rho^2)), at
    least `_chance_of_pairing`; ci95 = tanh(atanh(rho) -+ 1.96 sqrt((1 + rho^2/2) / (n-3)))
    (Bonett and Wright 2000), `agreeing` with p, None up to n = 3 and where rho is -1 or 1, at which it has no width. rho and p are NaN if one side is constant. Raises NotEnough below three pairs.

    >>> found = spearman([1, 2, 3, 4], [1, 4, 9, 16])
    >>> found.rho, round(found.p, 4)  # 2 / 4!
    (1.0, 0.0833)
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
    rho, ranks = (
        float(found.statistic),
        [stats.rankdata(side) - (n + 1) / 2 for side in (first, second)],
    )
    if n <= EXACT:
        sums = ranks[1][_orders(n)] @ ranks[0]
        p = float(np.mean(np.abs(sums) >= abs(ranks[0] @ ranks[1]) - 1e-9))
    else:
        p = max(float(found.pvalue), _chance_of_pairing(*ranks))
    if n == 3 or abs(rho) >= 1:
        return Correlation(n, rho, p, None)
    half = Z95 * np.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(rho) + np.array([-half, half]))
    p, ci95 = agreeing(p, float(low), float(high))
    return Correlation(n, rho, p, with_width(*ci95))


@cache
def _orders(n: int) -> Ints:
    return np.array(list(permutations(range(n))))


def _chance_of_pairing(first: Floats, second: Floats) -> float:
    """Share of all permutations that pair the centred ranks (n,) as they are; where one order is the other's, or its reverse, also in reverse.

    >>> ranks = np.array([-1.5, -1.5, 1.5, 1.5])  # 2 of the 6 pairings of two and two
    >>> round(_chance_of_pairing(ranks, ranks), 4)
    0.3333
    """
    sides = (first, second, np.column_stack([first, second]))
    alike = [
        special.gammaln(np.unique(side, axis=0, return_counts=True)[1] + 1).sum() for side in sides
    ]
    share = math.exp(alike[0] + alike[1] - alike[2] - special.gammaln(len(first) + 1))
    is_whole = np.array_equal(first, second) or np.array_equal(first, -second)
    is_even = np.array_equal(np.sort(first), np.sort(-first))  # the reverse has the same ranks
    return 2 * share if is_whole and is_even else share


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
