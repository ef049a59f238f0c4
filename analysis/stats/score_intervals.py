"""The score interval of an accuracy whose decisions may be ties, here and nowhere else."""

import math

from scipy import optimize

from analysis.stats.arrays import Interval


def with_ties(right: float, n: float, ties: float, z: float) -> Interval:
    """Of n decisions right are right, ties (more than 0) tied and the others wrong, which need not be whole; z: of the normal, or of t.

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
