"""Does accuracy go with a value of the trial (expertise, the item's date)? One logistic slope, with trials that go together."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval, Ints
from analysis.stats.logistic import SlopeFit, fit_slope
from analysis.stats.verdicts import Verdict

FEWEST = 3  # participants and items
LEAST = 1e-9  # where a cluster alone determines the slope

METHOD = (
    "log-odds of a correct answer = intercept + slope x value, over trials, by maximum likelihood without penalty. "
    "The standard error is clustered by participant and test case, each sandwich corrected for the leverage of its clusters (CR2). "
    "The 95% interval and the two-sided p are from Student's t with `df` degrees of freedom, which are few where "
    "few participants or test cases determine the slope."
)


@dataclass(frozen=True)
class TrialSlope:
    """Of `trial_slope`: log-odds per unit of the value."""

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

    The error is that of `_error`. participant: whole numbers from 0.
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
    se, df = _error(fit, people, items)
    half = float(special.stdtrit(df, 0.975)) * se
    found = TrialSlope(
        n=int(known.sum()),
        n_participants=counts[0],
        n_items=counts[1],
        slope=fit.slope,
        se=se,
        df=df,
        ci95=(fit.slope - half, fit.slope + half),
        p=float(2 * special.stdtr(df, -abs(fit.slope) / se)),
    )
    each: Floats = np.bincount(who[known], fit.influence, int(who.max()) + 1).astype(float)
    return found, each


def _error(fit: SlopeFit, people: Ints, items: Ints) -> tuple[float, float]:
    """Standard error of the slope for other people and other items, and its degrees of freedom; groups (n,) from 0.

    With V(g) the variance of `_sandwich` clustered by g: V = max(V(participant), V(item), V(participant) + V(item) - V(trial)),
    and by Satterthwaite df = V^2 / sum of V(g)^2 / df(g) over the clusterings that add to V(trial), and at most n - 2.
    """
    n = len(people)
    alone = _sandwich(fit, np.arange(n))
    variances = [_sandwich(fit, groups) for groups in (people, items)]
    variance = max(*variances, sum(variances) - alone)
    spent = alone**2 / (n - 2)
    for of, groups in zip(variances, (people, items), strict=True):
        if of > alone:
            spent += of**2 / _freedom(fit, groups, 1 - alone / of)
    return math.sqrt(variance), min(max(1.0, variance**2 / spent), n - 2.0)


def _sandwich(fit: SlopeFit, groups: Ints) -> float:
    """The CR2 variance of the slope with clusters (n,): Bell and McCaffrey 2002, for a logistic fit Pustejovsky and Tipton 2018.

    In coordinates x_t in which the information is I, with c the slope's contrast and M_g = sum of w_t x_t x_t' within g:
    the sum over g of (c' (I - M_g)^(-1/2) sum of x_t (y_t - fitted_t))^2. A clustering without correlation has no bias then.
    """
    weighted = fit.design[:, :, None] * fit.design[:, None, :] * fit.weight[:, None, None]
    inside = _summed(weighted.reshape(-1, 4), groups).reshape(-1, 2, 2)
    values, vectors = np.linalg.eigh(np.eye(2) - inside)
    root = (vectors / np.sqrt(np.maximum(values, LEAST))[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    scores = _summed(fit.design * fit.residual[:, None], groups)
    return float((np.einsum("a,gab,gb->g", fit.contrast, root, scores) ** 2).sum())


def _freedom(fit: SlopeFit, groups: Ints, together: float) -> float:
    """How many independent clusters (n,) the slope rests on: (sum of a_g)^2 / sum of a_g^2, from 1 to G - 2.

    a_g is what g adds to the variance: where its trials are alike, the squared sum of its influences' weights; where they are
    independent, the sum of their squares; between the two by `together`, the share of the variance that is between clusters
    (Carter, Schnepel and Steigerwald 2017, Rev. Econ. Stat. 99).
    """
    each = fit.design @ fit.contrast
    alike = _summed((each * fit.weight)[:, None], groups)[:, 0] ** 2
    apart = _summed((each**2 * fit.weight)[:, None], groups)[:, 0]
    adds = (1 - together) * apart / apart.sum()
    if alike.sum() > 0:
        adds = adds + together * alike / alike.sum()
    return float(min(max(1.0, adds.sum() ** 2 / (adds**2).sum()), len(adds) - 2))


def _summed(columns: Floats, groups: Ints) -> Floats:
    """(G, k) sums of columns (n, k) within groups (n,) from 0."""
    return np.column_stack([np.bincount(groups, column) for column in columns.T]).astype(float)
