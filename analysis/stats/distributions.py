"""How values spread: quantiles and their intervals, ratings of expertise, and how often each item was judged."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval, with_width

LOST = 0.05  # share of resamples that may lack a statistic; if more do, the others are no sample of all
SPREAD = (
    "Quartiles by linear interpolation; SD with n-1; 95% interval of the median from order statistics (exact, "
    "conservative, at least 6 values)."
)


@dataclass(frozen=True)
class Spread:
    """Spread of n values, in their unit; sd is None for one value, ci95 (of the median) below six."""

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


def percentile_interval(values: Floats) -> Interval | None:
    """The 2.5th and 97.5th percentiles of resampled values (n,), linear between ranks: the percentile interval; see `with_width`.

    >>> percentile_interval(np.arange(0.0, 1001.0))
    (25.0, 975.0)
    """
    return with_width(*np.quantile(values, [0.025, 0.975]))


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


P80 = (
    "80th percentile, linear between ranks; 95% interval from order statistics, treating ratings as independent "
    "(conservative; missing if there are too few)."
)
N_CLASSES, WIDTH = 10, 10


@dataclass(frozen=True)
class HistogramClass:
    """n ratings from low to high, both included."""

    low: int
    high: int
    n: int


@dataclass(frozen=True)
class Distribution:
    """Result of `distribution`, in points of the rating."""

    n: int
    mean: float
    sd: float
    min: float
    q1: float
    median: float
    q3: float
    p80: float
    p80_ci95: Interval | None
    max: float
    n_unique: int
    histogram: tuple[HistogramClass, ...]
    method: str = (
        "Standard deviation with n-1; quartiles and percentiles linear between ranks; "
        "histogram in ten classes of ten ratings; interval of the 80th percentile from order statistics."
    )


def distribution(expertise: npt.ArrayLike) -> Distribution:
    """Describe ratings (n,) from 1 to 100; NaN is left out. sd with ddof=1 (NaN for one rating), quantiles linear;
    the interval of the 80th percentile is `quantile_interval`'s.

    Class k holds the ratings above 10 k and up to 10 (k + 1). Raises NotEnough when no rating is left.

    >>> some = distribution([1, 10, 11, 100])
    >>> some.median, [c.n for c in some.histogram]
    (10.5, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    """
    values = np.asarray(expertise, dtype=float)
    values = values[~np.isnan(values)]
    if not len(values):
        raise NotEnough("No trial has a rating of expertise.", "At least one is needed.")
    place = np.clip(np.ceil(values / WIDTH).astype(np.int64) - 1, 0, N_CLASSES - 1)
    counts = np.bincount(place, minlength=N_CLASSES).tolist()
    low, q1, median, q3, p80, high = np.percentile(values, [0, 25, 50, 75, 80, 100])
    return Distribution(
        n=len(values),
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if len(values) > 1 else np.nan,
        min=float(low),
        q1=float(q1),
        median=float(median),
        q3=float(q3),
        p80=float(p80),
        p80_ci95=quantile_interval(values, 0.8),
        max=float(high),
        n_unique=len(np.unique(values)),
        histogram=tuple(
            HistogramClass(WIDTH * k + 1, WIDTH * (k + 1), n) for k, n in enumerate(counts)
        ),
    )


EXPOSURES = "Trials in the analysis per test case, including test cases without any; SD with n-1 (sd_ddof0: with n)."


@dataclass(frozen=True)
class ExposureBin:
    """This many items were judged n times."""

    n: int
    items: int


@dataclass(frozen=True)
class Exposures:
    """Result of `exposures`: trials per item."""

    n_items: int
    mean: float
    sd: float | None
    sd_ddof0: float
    min: int
    max: int
    histogram: tuple[ExposureBin, ...]
    method: str = EXPOSURES


def exposures(counts: npt.ArrayLike) -> Exposures:
    """Describe counts (items,), whole numbers. Raises NotEnough without items.

    >>> three = exposures([1, 3, 3, 5])
    >>> three.mean, three.min, three.max, three.histogram[1]
    (3.0, 1, 5, ExposureBin(n=3, items=2))
    """
    n = np.asarray(counts).astype(np.int64)
    if not len(n):
        raise NotEnough("There are no test cases.", "Add test cases to the study.")
    values, items = np.unique(n, return_counts=True)
    histogram = tuple(ExposureBin(int(v), int(i)) for v, i in zip(values, items, strict=True))
    sd = float(n.std(ddof=1)) if len(n) > 1 else None
    return Exposures(
        len(n), float(n.mean()), sd, float(n.std()), int(values[0]), int(values[-1]), histogram
    )
