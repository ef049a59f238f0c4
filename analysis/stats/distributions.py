"""How values are spread: quartiles, extremes, and an interval of a quantile that assumes no shape."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval

SPREAD = (
    "Quartiles by linear interpolation; sd with n-1; 95% interval of the median from order statistics "
    "(exact, at least 95%, none below 6 values)."
)


@dataclass(frozen=True)
class Spread:
    """Of n values, in their unit; sd is None for one value, ci95 (of the median) below six."""

    n: int
    mean: float
    sd: float | None
    min: float
    q1: float
    median: float
    q3: float
    max: float
    ci95: Interval | None
    method: str = SPREAD


def spread_of(values: npt.ArrayLike) -> Spread:
    """Describe values (n,), none of them NaN. Raises NotEnough when there is none.

    >>> five = spread_of([1, 2, 3, 4, 10])
    >>> five.median, five.q1, five.q3, five.mean, five.ci95
    (3.0, 2.0, 4.0, 4.0, None)
    """
    ordered: Floats = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not len(ordered):
        raise NotEnough("There is no value to describe.", "At least one is needed.")
    low, q1, median, q3, high = (float(q) for q in np.quantile(ordered, [0, 0.25, 0.5, 0.75, 1]))
    sd = float(ordered.std(ddof=1)) if len(ordered) > 1 else None
    mean = float(ordered.mean())
    return Spread(len(ordered), mean, sd, low, q1, median, q3, high, median_interval(ordered))


def percentile_interval(values: Floats) -> Interval:
    """The 2.5th and 97.5th percentiles of resampled values (n,), linear between ranks: the percentile interval.

    >>> percentile_interval(np.arange(0.0, 1001.0))
    (25.0, 975.0)
    """
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def median_interval(values: npt.ArrayLike) -> Interval | None:
    """`quantile_interval` of the median: x_(j) to x_(n+1-j), None below n = 6.

    >>> median_interval([5, 1, 2, 4, 3, 6]), median_interval([1, 2, 3])
    ((1.0, 6.0), None)
    """
    return quantile_interval(values, 0.5)


def quantile_interval(values: npt.ArrayLike, share: float) -> Interval | None:
    """95% interval of the quantile below which `share` of the population lies, from order statistics of values (n,).

    From the j-th to the k-th smallest: with X ~ Binomial(n, share), j is the largest rank with P(X < j) < 2.5% and k the
    smallest with P(X >= k) <= 2.5%: at least 95% for independent values of every continuous distribution (Conover 1999,
    3.2), wider than needed where values repeat. None where n is too small for one of the two. As scipy's quantile_test.

    >>> quantile_interval(range(1, 101), 0.8)
    (72.0, 89.0)
    """
    known = np.asarray(values, dtype=np.float64).ravel()
    if not len(known):
        return None
    found = scipy.stats.quantile_test(known, p=share).confidence_interval(0.95)
    exists = np.isfinite([found.low, found.high]).all()
    return (float(found.low), float(found.high)) if exists else None
