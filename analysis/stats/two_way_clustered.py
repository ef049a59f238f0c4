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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from analysis.stats.arrays import Floats, Interval, Ints, with_width, without_rounding
from analysis.stats.score_intervals import share_interval
from lib.points import RIGHT, TIE, WRONG

FEWEST_CLUSTERS = 3  # below, no interval: two levels say next to nothing of how others would differ
FEW = 5  # decisions of the rarer kind, below which a share's standard error says too little
FEW_CLUSTERS = 10  # test cases that changed, below which a change's error says too little
MANY_CLUSTERS = 30  # from which it is as sure as all test cases make it
LEAST_P = 1e-12
# Of clustered shares
SCORE = (
    "Shares have Wilson's score interval, with Student's t, for the number of independent decisions that would give the same standard error; with "
    "ties, Tango's for as many decisions."
)
PARTS = (
    f"Where a share of a difference has fewer than {FEW} right or fewer than {FEW} wrong decisions, each limit of the difference is the "
    "further of the usual one and that of the shares' score intervals (Zou and Donner 2008), and p is the larger of both."
)


@dataclass(frozen=True)
class TwoWay:
    """Standard error, 95% interval and two-sided p (against 0) of an estimate, from Student's t.

    n_clusters: the smaller number of people and items, whose number less one are the degrees of freedom.
    from_parts: whether `of_parts` made the interval and p wider than those of the standard error. ties: of an accuracy, the share
    of decisions that are ties.
    """

    estimate: float
    se: float
    ci95: Interval
    p: float
    n_clusters: int
    from_parts: bool = False
    ties: float = 0.0

    @property
    def share_ci95(self) -> Interval:
        """Interval of an estimate that is a share: within [0, 1]."""
        low, high = share_interval(self.estimate, self.se, self.n_clusters, ties=self.ties)
        if self.from_parts:
            low, high = max(0.0, min(low, self.ci95[0])), min(1.0, max(high, self.ci95[1]))
        return low, high

    def share_p(self, reference: float) -> float:
        """Two-sided p of an estimate that is a share: the alpha whose score interval ends at the reference; NaN where unknown.

        >>> found = clustered(0.6, 0.05, 10_000)
        >>> round(found.share_p(found.share_ci95[0]), 6), found.share_p(0.6)
        (0.05, 1.0)
        """
        if not self.is_known or self.estimate == reference:
            return 1.0 if self.is_known else math.nan
        end = 0 if self.estimate > reference else 1

        def short_of(log_alpha: float) -> float:
            """How far the interval ends from the reference, on the estimate's side."""
            alpha = math.exp(log_alpha)
            ends = share_interval(self.estimate, self.se, self.n_clusters, alpha, ties=self.ties)
            return ends[end] - reference if end == 0 else reference - ends[end]

        least = math.log(LEAST_P)
        return LEAST_P if short_of(least) > 0 else math.exp(optimize.brentq(short_of, least, 0.0))

    def within(self, low: float = -math.inf, high: float = math.inf) -> Interval | None:
        """The interval, within bounds; None where it is not known, or where nothing varies and there are no parts."""
        return with_width(max(low, self.ci95[0]), min(high, self.ci95[1]))

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.se)


def two_way(
    participant: Ints, item: Ints, is_correct: npt.ArrayLike, models: Floats | None = None
) -> TwoWay:
    """Accuracy over trials, or the models' mean (`over_items`) minus it, with a variance that is robust to both clusterings.

    With e_t = (y_t - accuracy) / n and V(g) = G / (G - 1) sum_g (sum of e within g)^2 over the G levels of g:
    variance = V(trial) + max(0, V(participant) - V(trial)) + max(0, V(item) - V(trial)).
    For the difference, an item's deviation is the models' minus the sum of its e, which keeps the pairing of humans and models
    on the same items.
    Three participants and three items at least, else NaN.

    >>> two_way(np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3]), [1, 0, 1, 0]).se.__round__(6)
    0.288675
    """
    known = Deviations.of(participant, item, is_correct)
    return known.accuracy_error() if models is None else known.difference_error(models)


@dataclass(frozen=True)
class Deviations:
    """Trials summed up for `two_way`, so that many models can be set against the same people at no cost in trials.

    by_item: (items,) sums of the trials' deviations, n_by_item their numbers; at_random and between_people are V(trial)
    and max(0, V(participant) - V(trial)). ties: the share of trials that are.
    """

    accuracy: float
    ties: float
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
            ties=share_of_ties(y),
            n_people=len(people),
            by_item=np.bincount(item, errors).astype(float),
            n_by_item=np.bincount(item),
            at_random=at_random,
            between_people=max(0, _variance(people) - at_random),
        )

    def accuracy_error(self) -> TwoWay:
        """Error of the accuracy over trials."""
        found = self._with(self.accuracy, self.by_item[self.n_by_item > 0])
        return replace(found, ties=self.ties)

    def difference_error(self, models: Floats) -> TwoWay:
        """Error of the models' mean (`over_items`) minus the accuracy."""
        rows = np.atleast_2d(models)
        mean, parts, more = (
            over_items(rows),
            parts_of_models(rows),
            rows.shape[1] - len(self.by_item),
        )
        used = np.isfinite(rows).any(axis=0) | (np.pad(self.n_by_item, (0, more)) > 0)
        together = (_item_deviations(rows) - np.pad(self.by_item, (0, more)))[used]
        usual = self._with(mean.estimate - self.accuracy, together, mean.n_clusters)
        n_rare = rarer(self.accuracy, int(self.n_by_item.sum()))
        return of_parts(usual, (*parts, Part(self.accuracy_error(), n_rare, -1.0)))

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
    se = without_rounding(se)
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


@dataclass(frozen=True)
class Part:
    """A share that a difference has `weight` times; n_rare: its decisions of the rarer kind, a tie being half of each.

    n_rare infinite: a mean of anything else, whose standard error is taken as it is.
    """

    known: TwoWay
    n_rare: float
    weight: float = 1.0

    def reach(self, alpha: float) -> Interval:
        """How far the difference goes down and up on account of this part, each 0 or more."""
        value, se, n = self.known.estimate, self.known.se, self.known.n_clusters
        if math.isinf(self.n_rare):
            half = abs(self.weight) * float(special.stdtrit(n - 1, 1 - alpha / 2)) * se
            return half, half
        ends = share_interval(value, se, n, alpha, ties=self.known.ties)
        low, high = (abs(self.weight * (x - value)) for x in ends)
        return (low, high) if self.weight > 0 else (high, low)


def rarer(share: float, n: int) -> float:
    """Number of right or wrong decisions, whichever is smaller, of n decisions with this share of right ones.

    >>> rarer(0.75, 8)
    2.0
    """
    return n * min(share, 1 - share)


def of_parts(usual: TwoWay, parts: Sequence[Part]) -> TwoWay:
    """A difference, the sum of its weighted parts, that is never surer than its parts are where one is near 0 or 1.

    The standard error of a share of which all decisions agree is 0, and that of few of the rarer kind is too small. So with a part
    of fewer than FEW such decisions, the limits are estimate - sqrt(sum of d^2), d the distances that the parts' score intervals allow (MOVER: Zou
    and Donner 2008, Stat. Med. 27; for two shares Newcombe's method 10), or the usual ones where these are wider. p is
    the alpha whose interval ends at 0, or the usual one where that is larger. The parts are taken as uncorrelated, which for
    shares of the same items is cautious.

    >>> people, models = clustered(1.0, 0.0, 20), clustered(0.8, 0.02, 20)
    >>> usual = clustered(-0.2, 0.02, 20)
    >>> found = of_parts(usual, (Part(models, 60.0), Part(people, 0.0, -1.0)))
    >>> [round(end, 3) for end in usual.ci95], [round(end, 3) for end in found.ci95]
    ([-0.242, -0.158], [-0.245, -0.016])
    """
    few = any(part.n_rare < FEW for part in parts)
    if not few or not usual.is_known or not all(part.known.is_known for part in parts):
        return usual
    value = usual.estimate

    def reach(alpha: float) -> Interval:
        below, above = zip(*(part.reach(alpha) for part in parts), strict=True)
        return math.hypot(*below), math.hypot(*above)

    def beyond(log_alpha: float) -> float:
        """How far the interval goes beyond 0."""
        below, above = reach(math.exp(log_alpha))
        return (below if value > 0 else above) - abs(value)

    p, least = 1.0, math.log(LEAST_P)
    if value:
        p = math.exp(optimize.brentq(beyond, least, 0.0)) if beyond(least) > 0 else LEAST_P
    below, above = reach(0.05)
    low, high = min(usual.ci95[0], value - below), max(usual.ci95[1], value + above)
    p = p if math.isnan(usual.p) else max(p, usual.p)
    return replace(usual, ci95=(low, high), p=p, from_parts=True)


def of_changes(values: Floats, mean: Callable[[Floats], TwoWay], cluster: Ints) -> TwoWay:
    """The mean of changes (n,) from -1 to 1 of decisions on the same rows; mean: of such rows, with its error.

    cluster: (n,) whole numbers from 0, the test case (or template) of each row. Changes that lie on fewer than MANY_CLUSTERS of them,
    by `n_that_differ`, have no more degrees of freedom than so many would.

    >>> same = of_changes(np.zeros(10), over_items, np.arange(10))
    >>> same.estimate, [round(end, 2) for end in same.ci95], same.p
    (0.0, [-0.34, 0.34], 1.0)
    """
    usual, n = mean(values), n_that_differ(values, cluster)
    if usual.is_known and FEW_CLUSTERS <= n < min(MANY_CLUSTERS, usual.n_clusters):
        usual = clustered(usual.estimate, usual.se, int(n))
    return of_parts(usual, parts_of_changes(values, mean, cluster))


def parts_of_changes(
    values: Floats, mean: Callable[[Floats], TwoWay], cluster: Ints, weight: float = 1.0
) -> tuple[Part, ...]:
    """The shares of rows that changed by 1 and by 1/2, either way; of values other than points, the means gained and lost.

    The rarer kind: rows that differ from the usual change. FEW_CLUSTERS test cases that do are as few as FEW rows.
    """
    if np.isin(values, (-1.0, -TIE, 0.0, TIE, 1.0)).all():
        n_rare = float(np.count_nonzero(values != np.median(values)))
        n_rare = min(n_rare, n_that_differ(values, cluster) * FEW / FEW_CLUSTERS)
        sizes = (1.0, TIE) if (np.abs(values) == TIE).any() else (1.0,)
        return tuple(
            Part(mean((values == by).astype(float)), n_rare, weight * by)
            for size in sizes
            for by in (size, -size)
        )
    gained, lost = mean(values.clip(0)), mean((-values).clip(0))
    changed = len(values) * (gained.estimate + lost.estimate)
    n_rare = min(changed, len(values) * (1 - max(gained.estimate, lost.estimate)))
    return Part(gained, n_rare, weight), Part(lost, n_rare, -weight)


def n_that_differ(values: Floats, cluster: Ints) -> float:
    """On how many clusters the values (n,) differ from their median: Kish's effective number (sum c)^2 / sum c^2.

    c: the sum of a cluster's absolute deviations. 0 where all values are equal.

    >>> n_that_differ(np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 2, 3, 3]))
    2.0
    """
    by_cluster = np.bincount(cluster, np.abs(values - np.median(values)))
    squares = float(by_cluster @ by_cluster)
    return float(by_cluster.sum()) ** 2 / squares if squares else 0.0


def over_items(models: Floats) -> TwoWay:
    """Mean over models of each one's accuracy on the items it decided: models (items,) or (models, items), NaN not decided.

    Only items vary: se^2 = n / (n - 1) sum d_i^2, d_i = mean over models of (x_mi - accuracy_m) / n_m, over the n items that any
    decided. For models of the same items that is sd (ddof=1) / sqrt(n) of the items' means. Otherwise n_clusters is Kish's effective
    number 1 / sum w_i^2, w_i = mean over models of 1 / n_m, and the mean is never surer than its `parts_of_models`. NaN where a
    model decided fewer than three items.

    >>> over_items(np.array([0.0, 1.0, 1.0, 0.0, np.nan])).se.__round__(4)
    0.2887
    >>> found = over_items(np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, np.nan]]))
    >>> found.estimate, found.n_clusters, [round(end, 2) for end in found.share_ci95]
    (0.75, 4, [0.27, 1.0])
    """
    rows = np.atleast_2d(models)
    parts = parts_of_models(rows)
    if len(parts) == 1:
        return parts[0].known
    mean = sum(part.weight * part.known.estimate for part in parts)
    decided = np.isfinite(rows)
    n = int(decided.sum(axis=1).min())
    if n >= FEWEST_CLUSTERS:
        n = round(
            1 / float(((decided / decided.sum(axis=1, keepdims=True)).mean(axis=0) ** 2).sum())
        )
    se = math.sqrt(_variance(_item_deviations(rows)[decided.any(axis=0)]))
    return of_parts(clustered(mean, se, n), parts)


def parts_of_models(models: Floats) -> tuple[Part, ...]:
    """The mean of models (models, items), as in `over_items`, as the sum of those of models that decided the same items."""
    patterns, which = np.unique(np.isfinite(models), axis=0, return_inverse=True)
    found = []
    for k, decided in enumerate(patterns):
        alike, n = models[which.ravel() == k], int(decided.sum())
        values = alike[:, decided].mean(axis=0)
        if n < FEWEST_CLUSTERS:
            mean = clustered(float(values.mean()) if n else math.nan, math.nan, n)
        else:
            se = math.sqrt(_variance((values - values.mean()) / n))
            # Where two models differ, their mean is 1/2 and no tie
            ties = share_of_ties(values) if len(alike) == 1 else 0.0
            mean = replace(clustered(float(values.mean()), se, n), ties=ties)
        n_rare = min(rarer(mean.estimate, n), n * (1 - mean.ties))
        found.append(Part(mean, n_rare, len(alike) / len(models)))
    return tuple(found)


def _item_deviations(models: Floats) -> Floats:
    """(items,) mean over models of (x_mi - accuracy_m) / n_m, 0 where not decided."""
    decided = np.isfinite(models)
    n = np.maximum(decided.sum(axis=1, keepdims=True), 1)
    means = np.where(decided, models, 0.0).sum(axis=1, keepdims=True) / n
    deviations: Floats = (np.where(decided, models - means, 0.0) / n).mean(axis=0)
    return deviations


def share_of_ties(values: Floats) -> float:
    """Share of ties among decisions (n,), whose points are 0, 1/2 or 1; 0 of other values, such as means over several models.

    >>> share_of_ties(np.array([0.5, 1.0])), share_of_ties(np.array([0.5, 0.75]))
    (0.5, 0.0)
    """
    are_points = np.isin(values, (RIGHT, TIE, WRONG)).all()
    return float(np.mean(values == TIE)) if are_points else 0.0


def covariance(errors: Floats, clusterings: list[Ints]) -> Floats:
    """(k, k) covariance of sums of errors (n, k) over trials, robust to one or two clusterings (n,) of the trials.

    V(first), or V(trial) + (V(first) - V(trial))+ + (V(second) - V(trial))+, as the variance of `two_way` for k sums at once;
    ()+ sets eigenvalues below 0 to 0 (Cameron, Gelbach and Miller 2011), so that nothing is surer than independent trials.
    """
    found = []
    for group in clusterings:
        place = np.unique(group, return_inverse=True)[1]
        # Sums over the trials of each level, (levels, k)
        found.append(_square(np.column_stack([np.bincount(place, column) for column in errors.T])))
    if len(found) == 1:
        return found[0]
    at_random = _square(errors)
    beyond = np.zeros_like(at_random)
    for one in found:
        values, vectors = np.linalg.eigh(one - at_random)
        beyond += (vectors * np.maximum(values, 0)) @ vectors.T
    return at_random + beyond


def _square(sums: Floats) -> Floats:
    scale = len(sums) / (len(sums) - 1) if len(sums) > 1 else math.nan
    return np.asarray(sums.T @ sums * scale)


def _variance(sums: Floats) -> float:
    """G / (G - 1) times the sum of squares of the levels' sums."""
    return float(sums @ sums * len(sums) / (len(sums) - 1)) if len(sums) > 1 else math.nan
