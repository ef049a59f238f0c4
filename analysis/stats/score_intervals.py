"""Score intervals of an accuracy whose decisions may be ties, or clustered, here and nowhere else."""

import math

from scipy import optimize, special

from analysis.stats.arrays import Interval
from lib.points import TIE


def with_ties(right: float, n: float, ties: float, z: float) -> Interval:
    """Interval of a share: of n decisions right are right, ties (above 0) tied and the others wrong; none need be whole. z: normal or t.

    Accuracy is (1 + d) / 2 with d the probability of right minus that of wrong. The interval holds the d at which
    |right - wrong - n d| <= z sqrt(n (2 q + d - d^2)), with q the most likely probability of wrong at that d (Tango 1998, as
    for changes of paired decisions). As ties become fewer, it becomes Wilson's.

    >>> [round(end, 3) for end in with_ties(44, 199, 101, 1.96)]
    [0.426, 0.524]
    """
    wrong = max(0.0, n - right - ties)
    lead = right - wrong
    if not (right or wrong):
        most = z**2 / (n + z**2)  # where the equation below has d^2 n = z^2 (|d| - d^2)
        return (1 - most) / 2, (1 + most) / 2

    def excess(d: float) -> float:
        b = (2 * n - lead) * d - right - wrong
        root = math.sqrt(max(0.0, b * b + 8 * n * wrong * d * (1 - d)))
        q = (root - b) / (4 * n)
        return (lead - n * d) ** 2 - z**2 * n * (2 * q + d - d * d)

    middle = lead / n

    def end(bound: float) -> float:
        """Where z is huge, or nearly 0, the interval ends at the bound, or the estimate, but for rounding."""
        if excess(bound) <= 0:
            return bound
        return float(optimize.brentq(excess, middle, bound)) if excess(middle) < 0 else middle

    return (1 + end(-1.0)) / 2, (1 + end(1.0)) / 2


def share_interval(
    share: float,
    se: float,
    n_clusters: int,
    alpha: float = 0.05,
    *,
    ties: float = 0.0,
) -> Interval:
    """95% interval (or 1 - alpha) of a share within [0, 1] from its standard error and the smaller number of clusters.

    Wilson's score interval of n = share (1 - share) / se^2 decisions, those that would be as sure if they were independent,
    with Student's t of n_clusters - 1 degrees of freedom (Korn and Graubard 1998; Franco et al. 2019, J. Surv. Stat.
    Methodol. 7). With t for its quantile: (share + t^2/2n -+ t sqrt(share (1 - share) / n + t^2/4n^2)) / (1 + t^2/n).
    Where nothing varies (se = 0) n is the number of clusters. ties: the share of decisions that are, whose variance
    is (share (1 - share) - ties / 4) / n; the interval is then Tango's of so many.

    >>> [round(end, 3) for end in share_interval(0.5, 0.05, 10_000)]  # Wilson's of 50 of 100
    [0.404, 0.596]
    """
    of_one = max(0.0, share * (1 - share) - TIE**2 * ties)
    n = of_one / se**2 if se > 0 else float(n_clusters)
    t = float(special.stdtrit(n_clusters - 1, 1 - alpha / 2))
    if ties:
        return with_ties(n * max(0.0, share - TIE * ties), n, n * ties, t)
    middle, scale = share + t * t / (2 * n), 1 + t * t / n
    half = t * math.sqrt(max(0.0, share * (1 - share)) / n + t * t / (4 * n * n))
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)
