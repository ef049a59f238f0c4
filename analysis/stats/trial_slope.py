"""Does accuracy go with a value of the trial (expertise, the item's date)? One logistic slope, with trials that go together."""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.families import LEVEL
from analysis.stats.logistic import clustered_variance, fit_slope, two_sided, wald

METHOD = (
    "log-odds of a correct answer = intercept + slope x value, over trials, by maximum likelihood without penalty. "
    "`se`, `ci95` and `p` are clustered by participant and test case (two-way sandwich estimator, normal theory, "
    "two-sided); `by_participant_*` are clustered only by participant."
)


class Direction(Enum):
    """Of accuracy as a value grows; unclear where p is not below .05."""

    RISES = "rises"
    FALLS = "falls"
    UNCLEAR = "unclear"

    @classmethod
    def of(cls, estimate: float, p: float) -> "Direction":
        """
        >>> Direction.of(0.1, 0.01), Direction.of(-0.1, 0.2)
        (<Direction.RISES: 'rises'>, <Direction.UNCLEAR: 'unclear'>)
        """
        if not p < LEVEL:
            return cls.UNCLEAR
        return cls.RISES if estimate > 0 else cls.FALLS


@dataclass(frozen=True)
class TrialSlope:
    """Of `trial_slope`: log-odds per unit of the value."""

    n: int
    n_participants: int
    n_items: int
    slope: float
    se: float
    ci95: Interval
    p: float
    by_participant_se: float
    by_participant_ci95: Interval
    by_participant_p: float
    method: str = METHOD


def trial_slope(
    value: npt.ArrayLike,
    is_correct: npt.ArrayLike,
    participant: npt.ArrayLike,
    item: npt.ArrayLike,
) -> tuple[TrialSlope, Floats]:
    """The slope of is_correct (n,) on value (n,), NaN left out, and (participants,) what each person adds to its error.

    Variance, with V(g) the sandwich clustered by g: V(trial) + max(0, V(participant) - V(trial)) + max(0, V(item) - V(trial)),
    as analysis.stats.two_way_clustered has it for a mean. participant: whole numbers from 0.
    Raises NotEnough with fewer than three participants or items, or where `logistic` has no fit.
    Checked against statsmodels' Logit with cov_cluster_2groups.
    """
    values, right = np.asarray(value, dtype=float), np.asarray(is_correct, dtype=float)
    who = np.asarray(participant, dtype=np.int64)
    known = ~np.isnan(values)
    people = np.unique(who[known], return_inverse=True)[1]
    items = np.unique(np.asarray(item)[known], return_inverse=True)[1]
    counts = len(np.unique(people)), len(np.unique(items))
    if min(counts) < 3:
        raise NotEnough(
            "With fewer than three participants or test cases, a slope has no interval.",
            "Let more participants judge more test cases.",
        )
    fit = fit_slope(values[known], right[known])
    at_random = clustered_variance(fit.influence, np.arange(known.sum()))
    person, case = (clustered_variance(fit.influence, groups) for groups in (people, items))
    variance = at_random + max(0.0, person - at_random) + max(0.0, case - at_random)
    se, se_person = math.sqrt(variance), math.sqrt(person)
    found = TrialSlope(
        n=int(known.sum()),
        n_participants=counts[0],
        n_items=counts[1],
        slope=fit.slope,
        se=se,
        ci95=wald(fit.slope, se),
        p=two_sided(fit.slope / se),
        by_participant_se=se_person,
        by_participant_ci95=wald(fit.slope, se_person),
        by_participant_p=two_sided(fit.slope / se_person),
    )
    each: Floats = np.bincount(who[known], fit.influence, int(who.max()) + 1).astype(float)
    return found, each
