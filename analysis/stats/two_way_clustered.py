"""Errors of accuracies that are robust to clusters of both participants and items.

Cameron, Gelbach and Miller 2011, J. Bus. Econ. Stat. 29(2): variance between participants + between items - between
trials. Unlike the pigeonhole bootstrap of analysis.stats.crossed_bootstrap it counts the noise of single trials once. Language
models stay as they are: their answers are fixed, only the items vary.

Equal to statsmodels' cov_cluster_2groups of a regression on a constant, but that a part is not let below 0: in sparse
data (two trials per person and item) statsmodels' variance is less than half of this in 8% of samples. It also sets many
models against the same people without another pass over the trials: 40 models and 100,000 trials take 0.05 s, one fit
of statsmodels 0.36 s.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.arrays import Floats, Interval, Ints

FEWEST_CLUSTERS = 3  # below, no interval: two levels say next to nothing of how others would differ


@dataclass(frozen=True)
class TwoWay:
    """Standard error, 95% interval and two-sided p (against 0) of an estimate, from Student's t.

    n_clusters: the smaller number of people and items, whose number less one are the degrees of freedom.
    """

    estimate: float
    se: float
    ci95: Interval
    p: float
    n_clusters: int

    @property
    def share_ci95(self) -> Interval:
        """Of an estimate that is a share: within [0, 1]."""
        return share_interval(self.estimate, self.se, self.n_clusters)

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.se)


def two_way(
    participant: Ints, item: Ints, is_correct: npt.ArrayLike, by_item: Floats | None = None
) -> TwoWay:
    """Accuracy over trials, or `by_item`'s mean minus it, with a variance that is robust to both clusterings.

    With e_t = (y_t - accuracy) / n and V(g) = G / (G - 1) sum_g (sum of e within g)^2 over the G levels of g:
    variance = V(trial) + max(0, V(participant) - V(trial)) + max(0, V(item) - V(trial)).
    by_item: (items,) the models' share on each item, NaN not scored. An item's deviation is then its (share - mean) / items
    minus its e's, and the difference keeps the pairing of humans and models on the same items.
    Three participants and three items at least, else NaN.

    >>> two_way(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3]), [1, 0, 1, 0]).se.__round__(6)
    0.288675
    """
    known = Deviations.of(participant, item, is_correct)
    return known.accuracy_error() if by_item is None else known.difference_error(by_item)


@dataclass(frozen=True)
class Deviations:
    """Trials summed up for `two_way`, so that many models can be set against the same people at no cost in trials.

    by_item: (items,) sums of the trials' deviations, n_by_item their numbers; at_random and between_people are V(trial)
    and max(0, V(participant) - V(trial)).
    """

    accuracy: float
    n_people: int
    by_item: Floats
    n_by_item: Ints
    at_random: float
    between_people: float

    @staticmethod
    def of(participant: Ints, item: Ints, is_correct: npt.ArrayLike) -> "Deviations":
        y = np.asarray(is_correct, dtype=float)
        errors = (y - y.mean()) / len(y)
        people = np.bincount(participant, errors)[np.unique(participant)].astype(float)
        at_random = _variance(errors)
        return Deviations(
            accuracy=float(y.mean()),
            n_people=len(people),
            by_item=np.bincount(item, errors).astype(float),
            n_by_item=np.bincount(item),
            at_random=at_random,
            between_people=max(0, _variance(people) - at_random),
        )

    def accuracy_error(self) -> TwoWay:
        """Of the accuracy over trials."""
        return self._with(self.accuracy, self.by_item[self.n_by_item > 0])

    def difference_error(self, by_item: Floats) -> TwoWay:
        """Of by_item's mean (items,) minus the accuracy."""
        known, more = np.isfinite(by_item), len(by_item) - len(self.by_item)
        mean = float(np.nanmean(by_item))
        share = np.where(known, by_item - mean, 0.0) / known.sum()
        used = known | (np.pad(self.n_by_item, (0, more)) > 0)
        together = (share - np.pad(self.by_item, (0, more)))[used]
        return self._with(mean - self.accuracy, together, int(known.sum()))

    def _with(self, estimate: float, items: Floats, n_others: int | None = None) -> TwoWay:
        """n_others: items of the models."""
        variance = self.at_random + self.between_people + max(0, _variance(items) - self.at_random)
        n_items = int((self.n_by_item > 0).sum())
        n_clusters = min(self.n_people, n_items, n_items if n_others is None else n_others)
        return clustered(estimate, math.sqrt(variance), n_clusters)


def clustered(estimate: float, se: float, n_clusters: int) -> TwoWay:
    """Interval estimate -+ t se and p from Student's t with n_clusters - 1 degrees of freedom; NaN below 3 clusters.

    >>> clustered(0.0, 1.0, 3).p
    1.0
    """
    if n_clusters < FEWEST_CLUSTERS or not math.isfinite(se):
        return TwoWay(estimate, math.nan, (math.nan, math.nan), math.nan, n_clusters)
    half = float(special.stdtrit(n_clusters - 1, 0.975)) * se
    p = float(2 * special.stdtr(n_clusters - 1, -abs(estimate) / se)) if se > 0 else math.nan
    return TwoWay(estimate, se, (estimate - half, estimate + half), p, n_clusters)


def of_errors(
    estimate: float, errors: Floats, participant: Ints, item: Ints, n_clusters: int | None = None
) -> TwoWay:
    """An estimate whose error is, to first order, the sum of errors (n,) over trials, which add up to 0.

    The variance is that of `two_way`, whose errors are (y - accuracy) / n. participant, item: whole numbers from 0.
    n_clusters: where one group of people is smaller than all of them; None: the smaller number of people and items.

    >>> y, each = np.array([1.0, 0.0, 1.0, 0.0]), np.arange(4)
    >>> of_errors(0.5, (y - 0.5) / 4, each, each).se == two_way(each, each, y).se
    True
    """
    by_person, by_item = (
        np.bincount(group, errors)[np.unique(group)].astype(float) for group in (participant, item)
    )
    at_random = _variance(errors)
    variance = at_random
    for sums in (by_person, by_item):
        variance += max(0.0, _variance(sums) - at_random)
    fewest = min(len(by_person), len(by_item))
    return clustered(estimate, math.sqrt(variance), fewest if n_clusters is None else n_clusters)


def share_interval(share: float, se: float, n_clusters: int) -> Interval:
    """95% interval of a share within [0, 1] from its standard error and the smaller number of clusters.

    Wilson's score interval of n = share (1 - share) / se^2 decisions, those that would be as sure if they were independent,
    with Student's t of n_clusters - 1 degrees of freedom (Korn and Graubard 1998; Franco et al. 2019, J. Surv. Stat.
    Methodol. 7). With t for its quantile: (share + t^2/2n -+ t sqrt(share (1 - share) / n + t^2/4n^2)) / (1 + t^2/n).
    Where nothing varies (se = 0) n is the number of clusters.

    >>> [round(end, 3) for end in share_interval(0.5, 0.05, 10_000)]  # Wilson's of 50 of 100
    [0.404, 0.596]
    """
    n = share * (1 - share) / se**2 if se > 0 else float(n_clusters)
    t = float(special.stdtrit(n_clusters - 1, 0.975))
    middle, scale = share + t * t / (2 * n), 1 + t * t / n
    half = t * math.sqrt(max(0.0, share * (1 - share)) / n + t * t / (4 * n * n))
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def over_items(by_item: Floats) -> TwoWay:
    """The mean of by_item (items,), NaN not scored, of models: only items vary, se = sd (ddof=1) / sqrt(items).

    NaN below three items.

    >>> over_items(np.array([0.0, 1.0, 1.0, 0.0, np.nan])).se.__round__(4)
    0.2887
    """
    known = by_item[np.isfinite(by_item)]
    if len(known) < FEWEST_CLUSTERS:
        return clustered(float(known.mean()) if len(known) else math.nan, math.nan, len(known))
    se = math.sqrt(_variance((known - known.mean()) / len(known)))
    return clustered(float(known.mean()), se, len(known))


def covariance(errors: Floats, clusterings: list[Ints]) -> Floats:
    """(k, k) covariance of sums of errors (n, k) over trials, robust to one or two clusterings (n,) of the trials.

    V(first), or V(first) + V(second) - V(trial), as the variance of `two_way` for k sums at once; eigenvalues below 0,
    which the difference may have in sparse data, are set to 0 (Cameron, Gelbach and Miller 2011).
    """
    found = sum(_square(_summed(errors, group)) for group in clusterings)
    if len(clusterings) > 1:
        found = found - _square(errors)
    values, vectors = np.linalg.eigh(np.asarray(found))
    positive: Floats = (vectors * np.maximum(values, 0)) @ vectors.T
    return positive


def _summed(errors: Floats, group: Ints) -> Floats:
    """(levels, k) sums of errors over the trials of each level."""
    place = np.unique(group, return_inverse=True)[1]
    columns = [np.bincount(place, column) for column in errors.T]
    return np.column_stack(columns)


def _square(sums: Floats) -> Floats:
    scale = len(sums) / (len(sums) - 1) if len(sums) > 1 else math.nan
    return np.asarray(sums.T @ sums * scale)


def _variance(sums: Floats) -> float:
    """G / (G - 1) times the sum of squares of the levels' sums."""
    return float(sums @ sums * len(sums) / (len(sums) - 1)) if len(sums) > 1 else math.nan
