"""Does accuracy go with a value of the trial (expertise, the item's date)? One logistic slope, with trials that go together."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.cr2 import slopes
from analysis.stats.logistic import fit_slope
from analysis.stats.verdicts import Verdict

FEWEST = 3  # participants and items

METHOD = (
    "log-odds of a correct answer = intercept + slope x value, over trials, by maximum likelihood without penalty. "
    "The standard error is clustered by participant and test case, each sandwich corrected for the leverage of its clusters (CR2). "
    "The 95% interval and the two-sided p are from Student's t with `df` degrees of freedom, which are few where "
    "few participants or test cases determine the slope."
)


@dataclass(frozen=True)
class TrialSlope:
    """Result of `trial_slope`: log-odds per unit of the value."""

    n: int
    n_participants: int
    n_items: int
    slope: float
    se: float
    df: float
    ci95: Interval
    p: float
    method: str = METHOD

    def verdict(self, p: float) -> Verdict:
        """With this p, which may be corrected for a family."""
        return Verdict.of(self.slope, p, min(self.n_participants, self.n_items))


def trial_slope(
    value: npt.ArrayLike,
    is_correct: npt.ArrayLike,
    participant: npt.ArrayLike,
    item: npt.ArrayLike,
) -> tuple[TrialSlope, Floats]:
    """The slope of is_correct (n,) on value (n,), NaN left out, and (participants,) what each person adds to its error.

    The error is that of `cr2.slopes`. participant: whole numbers from 0.
    Raises NotEnough with fewer than FEWEST participants or items, or where `logistic` has no fit.
    """
    values, right = np.asarray(value, dtype=float), np.asarray(is_correct, dtype=float)
    who = np.asarray(participant, dtype=np.int64)
    known = ~np.isnan(values)
    people = np.unique(who[known], return_inverse=True)[1]
    items = np.unique(np.asarray(item)[known], return_inverse=True)[1]
    counts = len(np.unique(people)), len(np.unique(items))
    if min(counts) < FEWEST:
        raise NotEnough(
            f"With fewer than {FEWEST} participants or test cases, a slope has no interval.",
            "Let more participants judge more test cases.",
        )
    fit = fit_slope(values[known], right[known])
    slope = slopes(fit.fitted, (people, items))[1]
    found = TrialSlope(
        n=int(known.sum()),
        n_participants=counts[0],
        n_items=counts[1],
        slope=slope.estimate,
        se=slope.se,
        df=slope.df,
        ci95=slope.ci95,
        p=slope.p,
    )
    each: Floats = np.bincount(who[known], fit.influence, int(who.max()) + 1).astype(float)
    return found, each
