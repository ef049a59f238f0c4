"""Answering only where one is sure: how good answers are by the share that is given."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval, Ints
from analysis.stats.distributions import percentile_interval
from analysis.stats.graded.ratios import FEWEST_CLUSTERS
from analysis.stats.two_way_clustered import FEW, rarer

N_BOOT = 1000
METHOD = (
    "Answers in order of confidence, equal ones together; area under the share of good answers over coverage, from "
    "0 to 1, interpolated between numbers of answers. 95% percentile interval over resampled clusters (templates, or questions without one), "
    "widened by sqrt(k / (k - 1)) and by Student's t for k clusters."
)


@dataclass(frozen=True)
class Point:
    """Answers with at least that confidence: their share of all, and of these the share that is good."""

    threshold: float
    coverage: float
    good: float
    n: int


@dataclass(frozen=True)
class Selective:
    """points: from the most confident. area: of the curve; area_best: were every good answer surer than every other.

    good: of all answers, which is also the area where confidence says nothing; gain = area - good.
    """

    points: tuple[Point, ...]
    area: float
    area_ci95: Interval | None
    area_best: float
    good: float
    gain: float
    gain_ci95: Interval | None
    n: int
    method: str = METHOD


def selective(
    confidence: npt.ArrayLike, is_good: npt.ArrayLike, clusters: Ints, *, seed: int = 42
) -> Selective:
    """Share of good answers against coverage (El-Yaniv and Wiener 2010; the area as Geifman and El-Yaniv 2017).

    confidence, is_good, clusters: (n,), rows with a NaN confidence left out; any scale of confidence that rises. After the
    answers with at least confidence c, N in number and S of them good, m of the next w equally sure ones being good, the curve
    is (S + u m / w) / (N + u), u from 0 to w. Intervals are None below three clusters. Raises NotEnough without an answer.

    >>> found = selective([0.9, 0.1], [1, 0], np.arange(2))
    >>> [(one.coverage, one.good) for one in found.points], round(found.area, 4)  # (1 + ln 2) / 2
    ([(0.5, 1.0), (1.0, 0.5)], 0.8466)
    """
    sure, good = np.asarray(confidence, dtype=np.float64), np.asarray(is_good, dtype=np.float64)
    known = ~np.isnan(sure)
    sure, good, cluster = sure[known], good[known], np.asarray(clusters)[known]
    n = len(sure)
    if n == 0:
        raise NotEnough("No answer has a confidence.", "At least one is needed.")
    values, place = np.unique(-sure, return_inverse=True)
    sizes, hits = _groups(place, np.ones(n), good)
    area, share = _area(sizes, hits), float(good.mean())
    best = _area(np.array([good.sum(), n - good.sum()]), np.array([good.sum(), 0.0]))
    areas, gains = _resampled(place, good, cluster, seed, (area, area - share))
    number, right = np.cumsum(sizes), np.cumsum(hits)
    rows = zip(-values, number / n, right / number, number, strict=True)
    return Selective(
        tuple(Point(float(v), float(c), float(g), int(k)) for v, c, g, k in rows),
        area, areas, best, share, area - share, gains, n,
    )  # fmt: skip


def _groups(place: Ints, weight: Floats, good: Floats) -> tuple[Floats, Floats]:
    """(k,) answers of each confidence, and the good ones among them."""
    sizes: Floats = np.bincount(place, weight).astype(np.float64)
    hits: Floats = np.bincount(place, weight * good).astype(np.float64)
    return sizes, hits


def _area(sizes: Floats, hits: Floats) -> float:
    """Area under the curve through groups (k,) of equally sure answers, from the surest; a group may be empty.

    A group's part is w m + (S - m N) ln((N + w) / N), with m its own share of good ones; w m where it is the first.
    """
    sizes, hits = sizes[sizes > 0], hits[sizes > 0]
    own, before = hits / sizes, np.concatenate([[0.0], np.cumsum(sizes)[:-1]])
    good_before = np.concatenate([[0.0], np.cumsum(hits)[:-1]])
    logs = np.log1p(sizes[1:] / before[1:])
    bend = (good_before[1:] - own[1:] * before[1:]) @ logs
    return float((hits.sum() + bend) / sizes.sum())


def _resampled(
    place: Ints, good: Floats, clusters: Ints, seed: int, at: tuple[float, float]
) -> tuple[Interval | None, Interval | None]:
    """Intervals of the area, and of what it gains over all answers; at: both estimates."""
    names, cluster = np.unique(clusters, return_inverse=True)
    if len(names) < FEWEST_CLUSTERS or rarer(float(good.mean()), len(good)) < FEW:
        return None, None  # resamples of a few answers of the rarer kind are too much alike
    rng, found = np.random.default_rng(seed), np.empty((N_BOOT, 2))
    for row in found:
        times = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))
        weight = times[cluster].astype(np.float64)
        sizes, hits = _groups(place, weight, good)
        area = _area(sizes, hits)
        row[:] = area, area - hits.sum() / sizes.sum()
    # Percentiles of few clusters are too narrow: their deviations are widened as Student's t and the sample variance are
    k = len(names)
    wider = stats.t.ppf(0.975, k - 1) / stats.norm.ppf(0.975) * np.sqrt(k / (k - 1))
    area, gain = (middle + wider * (found[:, n] - middle) for n, middle in enumerate(at))
    return percentile_interval(area), percentile_interval(gain)
