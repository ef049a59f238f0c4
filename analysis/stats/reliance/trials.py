"""The trials of a study with advice, as the estimators take them."""

import math
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.score_intervals import share_interval
from analysis.stats.two_way_clustered import (
    FEW,
    Part,
    TwoWay,
    of_changes,
    of_errors,
    of_parts,
    parts_of_changes,
    rarer,
)

# No advice; the own answer first, then advice and a final answer; advice beside the abstracts
NONE, AFTER, BEFORE = PROCEDURES = ("none", "after", "before")
NO_TRIALS = ("There is no such trial.", "Let more participants finish the study.")
NO_FIRST = (
    "No participant answered before and after advice.",
    "Choose advice after the first answer in an arm.",
)


@dataclass(frozen=True)
class AdvisedTrials:
    """Data of n trials, (n,) each; NaN where not known or not asked.

    participant, item: whole numbers from 0. arm: its name. procedure: one of PROCEDURES.
    right_before: 1 or 0, whether the first answer is right; NaN but in the procedure AFTER. right_after: the final answer.
    advice_right: whether the advice of the item is right, also where it was not shown, and p_advice the adviser's probability of it;
    p_shown: the same where it was shown as a number; p_known: what participants could know of it, of words the middle of their
    range, and NaN where the choice alone was shown. confidence_before, confidence_after, expertise: 1 to 100. rt_before_ms:
    until the first answer; rt_ms: of the whole trial. position: of the trial, from 1.
    """

    participant: Ints
    item: Ints
    arm: npt.NDArray[np.object_]
    procedure: npt.NDArray[np.object_]
    right_before: Floats
    right_after: Floats
    advice_right: Floats
    p_advice: Floats
    p_shown: Floats
    p_known: Floats
    confidence_before: Floats
    confidence_after: Floats
    rt_before_ms: Floats
    rt_ms: Floats
    expertise: Floats
    position: Floats

    def __len__(self) -> int:
        return len(self.item)

    def of(self, chosen: Bools) -> "AdvisedTrials":
        """The chosen trials."""
        return replace(self, **{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @property
    def is_advised(self) -> Bools:
        """True where advice was shown."""
        shown: Bools = (self.procedure != NONE) & np.isfinite(self.advice_right)
        return shown

    @property
    def has_both(self) -> Bools:
        """True where there are a first answer, advice, and a final answer."""
        return self.is_advised & np.isfinite(self.right_before)

    def with_both(self) -> "AdvisedTrials":
        """Those of `has_both`. Raises NotEnough without one, as of an arm without advice, or with advice before any answer."""
        if not self.has_both.any():
            raise NotEnough(*NO_FIRST)
        return self.of(self.has_both)

    @property
    def follows(self) -> Floats:
        """1 where the final answer is the advised one, of two."""
        return np.asarray(self.right_after == self.advice_right, dtype=float)

    @property
    def disagrees(self) -> Bools:
        """True where the first answer was not the advised one."""
        differs: Bools = self.has_both & (self.right_before != self.advice_right)
        return differs

    @property
    def switched(self) -> Floats:
        """1 where the final answer is not the first one."""
        return np.asarray(self.right_after != self.right_before, dtype=float)


@dataclass(frozen=True)
class Estimate:
    """A share, or a difference of shares, of n trials; ci95 None below three participants or test cases; p against 0, where asked."""

    n: int
    n_participants: int
    n_items: int
    value: float
    ci95: Interval | None
    p: float | None = None
    n_clusters: int | None = None

    @classmethod
    def of(cls, found: TwoWay, trials: AdvisedTrials, bounds: Interval | None = None) -> "Estimate":
        """Estimate of a difference or mean, with p; its interval within `bounds`."""
        ends = found.within(*bounds or (-math.inf, math.inf))
        p = found.p if math.isfinite(found.p) else None
        return cls(*_sizes(trials), found.estimate, ends, p, found.n_clusters)


def share(trials: AdvisedTrials, values: Floats) -> Estimate:
    """Share of trials, values (n,) of 1 and 0, with a score interval of the two-way error. Raises NotEnough without a trial."""
    found = mean_error(trials, values)
    known = found.is_known
    ends = share_interval(found.estimate, found.se, found.n_clusters) if known else None
    return Estimate(*_sizes(trials), found.estimate, ends)


def mean(trials: AdvisedTrials, values: Floats, bounds: Interval | None = None) -> Estimate:
    """Mean of values (n,) of any sign, tested against 0. Raises NotEnough without a trial.

    Without an interval where fewer than FEW values differ from all others, which do not tell how others vary.
    """
    found = Estimate.of(mean_error(trials, values), trials, bounds)
    most = np.unique(values, return_counts=True)[1].max()
    return replace(found, ci95=None, p=None) if len(values) - most < FEW else found


def change(trials: AdvisedTrials, values: Floats) -> Estimate:
    """Mean of changes (n,) of points on the same trials, tested against 0. Raises NotEnough without a trial."""
    return Estimate.of(
        of_changes(values, partial(mean_error, trials), trials.item), trials, (-1.0, 1.0)
    )


def overconfidence(trials: AdvisedTrials, p: Floats, right: Floats) -> Estimate:
    """Mean of probabilities (n,) minus the share that is right (n,), tested against 0. Raises NotEnough without a trial."""
    usual, stated, share = (mean_error(trials, values) for values in (p - right, p, right))
    n_rare = rarer(share.estimate, len(right))
    found = of_parts(usual, (Part(stated, math.inf), Part(share, n_rare, -1.0)))
    return Estimate.of(found, trials, (-1.0, 1.0))


def change_of_overconfidence(trials: AdvisedTrials, p: Floats, points: Floats) -> Estimate:
    """Mean change of probabilities (n,) minus that of points (n,), tested against 0."""
    error = partial(mean_error, trials)
    parts = Part(error(p), math.inf), *parts_of_changes(points, error, trials.item, -1.0)
    return Estimate.of(of_parts(error(p - points), parts), trials, (-2.0, 2.0))


def difference(
    trials: AdvisedTrials, values: Floats, second: Bools, *, of_shares: bool = True
) -> Estimate:
    """Mean of values (n,) of the trials that are `second` (n,) minus that of the others; test cases may be shared, people too.

    A trial adds (y - its group's mean) / its group's n, less in the first group, to the error, so that what both groups share
    (an easy test case, a person in both) falls out. Student's t for the smallest number of people of a group, or of items.
    Raises NotEnough where a group has no trial.
    """
    if not (second.any() and (~second).any()):
        raise NotEnough(*NO_TRIALS)
    errors, means, parts = np.empty(len(values)), [], []
    for of, sign in ((second, 1.0), (~second, -1.0)):
        means.append(float(values[of].mean()))
        errors[of] = sign * (values[of] - means[-1]) / of.sum()
        n_rare = rarer(means[-1], int(of.sum())) if of_shares else math.inf
        parts.append(Part(mean_error(trials.of(of), values[of]), n_rare, sign))
    fewest = min(
        len(np.unique(group[of]))
        for of in (second, ~second)
        for group in (trials.participant, trials.item)
    )
    found = of_errors(means[0] - means[1], errors, trials.participant, trials.item, fewest)
    return Estimate.of(of_parts(found, parts), trials, (-1.0, 1.0) if of_shares else None)


def mean_error(trials: AdvisedTrials, values: Floats) -> TwoWay:
    if not len(values):
        raise NotEnough(*NO_TRIALS)
    middle = float(values.mean())
    return of_errors(middle, (values - middle) / len(values), trials.participant, trials.item)


def _sizes(trials: AdvisedTrials) -> tuple[int, int, int]:
    return len(trials), len(np.unique(trials.participant)), len(np.unique(trials.item))
