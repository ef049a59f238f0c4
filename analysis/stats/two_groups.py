"""Accuracies of two groups of people: on other test cases or the same ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.arrays import Interval, without_rounding
from analysis.stats.two_way_clustered import (
    FEWEST_CLUSTERS,
    PARTS,
    Part,
    TwoWay,
    clustered,
    of_parts,
    over_items,
    parts_of_changes,
)

METHOD = (
    "Difference of two estimates treated as independent: standard errors are added in squares, with Student's t "
    f"and the Welch-Satterthwaite degrees of freedom. {PARTS}"
)


@dataclass(frozen=True)
class Sample:
    """A share, its standard error, the clusters that the error was estimated from, and its decisions of the rarer kind."""

    value: float
    se: float
    n_clusters: int
    n_rare: float = math.inf

    @property
    def known(self) -> TwoWay:
        return clustered(self.value, self.se, self.n_clusters)


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
    """None where an error is unknown, rests on fewer than three clusters, or is nothing though decisions of both kinds are many.

    >>> found = two_samples(Sample(0.5, 0.03, 100), Sample(0.6, 0.04, 100))
    >>> round(found.se, 9), round(found.difference, 9), round(found.p, 3)
    (0.05, 0.1, 0.047)
    >>> [round(end, 2) for end in two_samples(Sample(1, 0, 20, 0), Sample(1, 0, 20, 0)).ci95]
    [-0.18, 0.18]
    """
    both = (first, second)
    if not all(sample.known.is_known for sample in both):
        return None
    variances = [s.se**2 for s in both]
    parts = [v**2 / (s.n_clusters - 1) for v, s in zip(variances, both, strict=True)]
    fewest = min(s.n_clusters for s in both)
    se = without_rounding(math.sqrt(sum(variances)))
    df = sum(variances) ** 2 / sum(parts) if se else fewest - 1.0
    difference = second.value - first.value
    half = float(stats.t.ppf(0.975, df)) * se
    p = 2 * float(stats.t.sf(abs(difference) / se, df)) if se else math.nan
    usual = TwoWay(difference, se, (difference - half, difference + half), p, fewest)
    found = of_parts(
        usual, (Part(second.known, second.n_rare), Part(first.known, first.n_rare, -1.0))
    )
    if math.isnan(found.p):
        return None
    low, high = found.ci95
    return TwoSamples(difference, se, (max(-1.0, low), min(1.0, high)), found.p, df)


PAIRED = (
    "Mean over test cases of the second group's accuracy minus the first's. Its variance is that of the differences "
    "between test cases plus, for each group, the variance between participants beyond that of single trials (two-way clustered, of all of its trials); Student's t "
    f"with Welch-Satterthwaite degrees of freedom. {PARTS}"
)


@dataclass(frozen=True)
class PeopleError:
    """Addition of people to the variance of an accuracy: `between` them, beyond the variance `at_random` of single trials."""

    n_people: int
    between: float
    at_random: float


def paired_groups(
    first: npt.ArrayLike, second: npt.ArrayLike, people: Sequence[PeopleError]
) -> TwoSamples:
    """The second group's accuracies (items,) minus the first's, of the same items, where people and items vary.

    With d the differences (NaN left out): variance = var(d) / items + sum of between, and the degrees of freedom
    variance^2 / ((var(d) / items)^2 / (items - 1) + sum of (between + at_random)^2 / (people - 1)), the groups without any
    between left out. Raises NotEnough below three items that both groups judged, below
    three people of a group, and where all differences are equal and nothing else varies.

    >>> found = paired_groups([0.5, 0.6, 0.7], [0.6, 0.8, 0.7], [PeopleError(20, 0.0, 0.001)] * 2)
    >>> round(found.difference, 3), round(found.se, 4), round(found.df, 6)
    (0.1, 0.0577, 2.0)
    """
    d = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    d = d[~np.isnan(d)]
    alone = over_items(d)
    if min(group.n_people for group in people) < FEWEST_CLUSTERS:
        raise NotEnough(
            f"Fewer than {FEWEST_CLUSTERS} participants do not tell how others would differ.",
            "Let more participants finish the study.",
        )
    if not alone.is_known:
        raise NotEnough(
            f"A comparison by test case needs at least three; both groups judged {len(d)}.",
            "Compare groups that judged the same test cases.",
        )
    variance = alone.se**2 + sum(group.between for group in people)
    spent = alone.se**4 / (len(d) - 1) + sum(
        (group.between + group.at_random) ** 2 / (group.n_people - 1)
        for group in people
        if group.between > 0
    )
    se = without_rounding(math.sqrt(variance))
    df = variance**2 / spent if se else len(d) - 1.0
    half = float(stats.t.ppf(0.975, df)) * se
    value = alone.estimate
    p = 2 * float(stats.t.sf(abs(value) / se, df)) if se else math.nan
    fewest = min([len(d), *(group.n_people for group in people)])
    usual = TwoWay(value, se, (value - half, value + half), p, fewest)
    found = of_parts(usual, parts_of_changes(d, over_items, np.arange(len(d))))
    if math.isnan(found.p):
        raise NotEnough("All test cases differ alike.", "Compare more test cases.")
    low, high = found.ci95
    return TwoSamples(value, se, (max(-1.0, low), min(1.0, high)), found.p, df, PAIRED)
