"""How people rate their own expertise: the distribution of the ratings, which run from 1 to 100."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.distributions import quantile_interval

P80 = (
    "80th percentile, linear between ranks; 95% interval from order statistics, the ratings taken as independent "
    "(at least 95% then; none where there are too few)."
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
    """Of `distribution`, in points of the rating."""

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
        histogram=_histogram(values),
    )


def _histogram(values: npt.NDArray[np.float64]) -> tuple[HistogramClass, ...]:
    place = np.clip(np.ceil(values / WIDTH).astype(np.int64) - 1, 0, N_CLASSES - 1)
    counts = np.bincount(place, minlength=N_CLASSES)
    return tuple(
        HistogramClass(WIDTH * k + 1, WIDTH * (k + 1), int(n)) for k, n in enumerate(counts)
    )
