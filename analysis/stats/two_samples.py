"""Two estimates that were made apart: their difference, its interval and its test."""

import math
from dataclasses import dataclass

from scipy import stats

from analysis.stats.arrays import Interval

METHOD = (
    "Difference of two estimates taken as independent: standard errors added in squares, Student's t with Welch's and "
    "Satterthwaite's degrees of freedom."
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
