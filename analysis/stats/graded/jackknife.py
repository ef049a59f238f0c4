"""Intervals of correlations and agreements, which no simple formula has where rows are alike within clusters.

Groups of clusters are left out, one after the other (Kott 2001, J. Official Stat. 17): as many clusters as there are, up to
`MOST_GROUPS`, beyond which clusters are put into so many groups at random.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from analysis.stats.arrays import Bools, Interval, Ints, with_width
from analysis.stats.graded.ratios import FEWEST_CLUSTERS, degrees_of_freedom, effective_number

MOST_GROUPS = 100
INTERVAL = (
    f"95% jackknife interval on Fisher's z scale that leaves out one cluster at a time (a template, or a question without "
    f"a template; more than {MOST_GROUPS} clusters are first merged at random into {MOST_GROUPS} groups)"
)


def groups_of(clusters: Ints, seed: int = 42) -> Ints:
    """(n,) the group, 0 and up, of each row's cluster (n,).

    >>> groups_of(np.array([7, 7, 3])).tolist()
    [1, 1, 0]
    """
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) <= MOST_GROUPS:
        return np.asarray(place, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(names))
    return np.asarray((order % MOST_GROUPS)[place], dtype=np.int64)


def correlation_interval(
    value: float, groups: Ints, without: Callable[[Bools], float]
) -> Interval | None:
    """95% interval of a statistic from -1 to 1, of rows in groups (n,); `without` gives it of the rows that are kept.

    se^2 = (G - 1) / G sum of (value without g - their mean)^2; tanh(atanh(value) -+ t se / (1 - value^2)), t of Student's with
    the effective number of groups less one. None below three groups, where the value is -1, 1 or not defined, with a
    group or without one, and where it is the same without each.
    """
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    if n_groups < FEWEST_CLUSTERS or not abs(value) < 1:
        return None
    left = np.array([without(groups != group) for group in range(n_groups)])
    se = math.sqrt((n_groups - 1) / n_groups * float(((left - left.mean()) ** 2).sum()))
    if not math.isfinite(se):
        return None
    df = degrees_of_freedom(effective_number(np.bincount(groups)))
    half = float(special.stdtrit(df, 0.975)) * se / (1 - value**2)
    middle = math.atanh(value)
    return with_width(math.tanh(middle - half), math.tanh(middle + half))
