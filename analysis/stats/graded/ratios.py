"""A ratio of two sums over clusters of rows, its linearised error, and the interval of one that is a share.

The error is Taylor's (Cochran 1977, section 6.3) with the small-sample correction CR2 of Bell and McCaffrey (2002, Survey
Methodology 28): for clusters of one size it is the well-known factor G / (G - 1).
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.arrays import Floats, Interval, Ints, without_rounding
from analysis.stats.estimates import Z95, wilson
from analysis.stats.two_way_clustered import TwoWay

FEWEST_CLUSTERS = (
    3  # below, no interval: two templates say next to nothing of how others would differ
)


@dataclass(frozen=True)
class Ratio:
    """Result of `ratio`.

    deviations: (clusters,) what each adds to the error, corrected; its variance is the sum of their squares.
    n_clusters: with a denominator above 0; n_effective: clusters of one size that would say as much.
    """

    value: float
    deviations: Floats
    n_clusters: int
    n_effective: float

    @property
    def se(self) -> float:
        """NaN below `FEWEST_CLUSTERS`."""
        known = self.n_clusters >= FEWEST_CLUSTERS
        se = math.sqrt(float(self.deviations @ self.deviations)) if known else math.nan
        return without_rounding(se)

    @property
    def df(self) -> float:
        return degrees_of_freedom(self.n_effective)

    @property
    def known(self) -> TwoWay:
        """With its error, interval and p from Student's t."""
        half = float(special.stdtrit(self.df, 0.975)) * self.se
        p = float(2 * special.stdtr(self.df, -abs(self.value) / self.se)) if self.se else math.nan
        n_clusters = max(2, int(self.n_effective)) if self.n_clusters else 0
        return TwoWay(self.value, self.se, (self.value - half, self.value + half), p, n_clusters)


def clusters_of(templates: Sequence[Hashable], questions: Sequence[Hashable] | None = None) -> Ints:
    """(n,) the cluster of each row, 0 and up: its template; a row without one (None, NaN or "") is its question's, or its own.

    Raises ValueError where there are not as many questions as templates.

    >>> clusters_of(["a", None, "a", None]).tolist(), clusters_of([None, None], [7, 7]).tolist()
    ([0, 1, 0, 2], [0, 0])
    """
    alone: Sequence[Hashable] = range(len(templates)) if questions is None else questions
    known: dict[Hashable, int] = {}
    found = []
    for template, own in zip(templates, alone, strict=True):
        is_nan = isinstance(template, float) and math.isnan(template)
        is_alone = template is None or template == "" or is_nan
        # A template is never taken for a question of its name
        name = (None, own) if is_alone else (template, None)
        found.append(known.setdefault(name, len(known)))
    return np.asarray(found, dtype=np.int64)


def ratio(numerators: npt.ArrayLike, denominators: npt.ArrayLike) -> Ratio:
    """r = sum of y_g / sum of x_g over clusters g: (clusters,) each; x_g = 0 and then y_g = 0: says nothing of r.

    deviation_g = (y_g - r x_g) / (X sqrt(1 - x_g / X)), X = sum of x_g. Where all x_g are equal its square is
    G / (G - 1) times that of the plain deviation. All are NaN where X is 0.

    >>> found = ratio([1, 0, 1, 0], [1, 1, 1, 1])
    >>> found.value, round(found.se, 6), found.n_effective  # sqrt(.5 .5 / 4) sqrt(4 / 3)
    (0.5, 0.288675, 4.0)
    """
    y, x = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    total = float(x.sum())
    if total <= 0:
        return Ratio(math.nan, np.full(len(x), math.nan), 0, math.nan)
    value, part = float(y.sum()) / total, x / total
    rest = np.where(part < 1, 1 - part, 1.0)  # a cluster that is all has no deviation
    deviations: Floats = (y - value * x) / (total * np.sqrt(rest))
    return Ratio(value, deviations, int((x > 0).sum()), effective_number(x))


def effective_number(sizes: npt.ArrayLike) -> float:
    """Effective number of clusters with these sizes (clusters,), Satterthwaite's where rows of one are all alike: (sum x^2)^2 / (sum x^4).

    As many as there are where all have one size.

    >>> effective_number([5, 5, 5, 5, 0])
    4.0
    """
    squares = np.asarray(sizes, dtype=np.float64) ** 2
    return float(squares.sum() ** 2 / (squares @ squares))


def degrees_of_freedom(n_effective: float) -> float:
    """Degrees of freedom of Student's t: effective clusters less one, at least 1."""
    return max(1.0, n_effective - 1)


def covariance(ratios: Sequence[Ratio]) -> Floats:
    """(k, k) of k ratios over the same clusters, by their deviations: never with an eigenvalue below 0."""
    deviations = np.column_stack([one.deviations for one in ratios])
    found: Floats = deviations.T @ deviations
    return found


def share_interval(found: Ratio, n: int) -> Interval | None:
    """95% interval, within [0, 1], of a ratio that is a share of n rows. None below `FEWEST_CLUSTERS`.

    Wilson's of m independent rows: m = min(n, p (1 - p) / se^2 (z / t)^2), those that would be as sure, with Student's t of
    n_effective - 1 degrees of freedom (Korn and Graubard 1998; Franco et al. 2019, J. Surv. Stat. Methodol. 7), and never
    more than there are (Parker et al. 2017, Vital Health Stat. 2(175)). Where p is 0 or 1 nothing tells how alike the rows
    of a cluster are: m = n_effective then.

    >>> alike = ratio([5, 5, 5, 5], [10, 10, 10, 10])  # as Wilson's of 20 of 40
    >>> [round(end, 3) for end in share_interval(alike, 40) or ()]
    [0.352, 0.648]
    """
    if found.n_clusters < FEWEST_CLUSTERS:
        return None
    p = min(1.0, max(0.0, found.value))
    if p in (0, 1):
        m = found.n_effective
    else:
        t = float(special.stdtrit(found.df, 0.975))
        m = min(n, p * (1 - p) / found.se**2 * (Z95 / t) ** 2) if found.se > 0 else n
    low, high = wilson(m * p, m)
    return max(0.0, float(low)), min(1.0, float(high))
