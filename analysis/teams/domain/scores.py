"""What a team's numbers are means of: its rows, and the bins of its calibration error, resampled together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.calibration import equal_width_bins
from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.resampling import Draws

N_BINS = 10
N_MEANS = 5  # accuracy, log loss, Brier score, selector, gain: unweighted means over rows
SMALLEST = 1e-300  # a probability of 0 costs 691 nats, not infinitely many


@dataclass(frozen=True)
class Rows:
    """What of a team's rows is resampled, (n,) each.

    selector: at least one member is right; best: the best member is. stated: the probability of the choice made;
    place: its bin.
    """

    is_right: Bools
    p_original: Floats
    selector: Bools
    best: Bools
    stated: Floats
    place: Ints

    def values(self, rows: slice) -> Floats:
        """(rows, N_MEANS + N_BINS) columns whose means are the team's numbers, then what each bin is off by."""
        right, p = self.is_right[rows].astype(float), self.p_original[rows]
        found = np.zeros((len(p), N_MEANS + N_BINS))
        found[:, :N_MEANS] = np.column_stack(
            [right, _surprise(p), (1 - p) ** 2, self.selector[rows], right - self.best[rows]]
        )
        found[np.arange(len(p)), N_MEANS + self.place[rows]] = right - self.stated[rows]
        return found


def rows_of(is_right: Bools, held: HeldOut) -> Rows:
    """The first of the members with most rows right is the best."""
    stated = np.where(held.is_right, held.p_original, 1 - held.p_original)
    best = is_right[:, int(is_right.sum(axis=0).argmax())]
    some: Bools = np.asarray(is_right.any(axis=1))
    return Rows(held.is_right, held.p_original, some, best, stated, bins(stated)[1])


def _surprise(p: Floats) -> Floats:
    surprise: Floats = -np.log(np.maximum(p, SMALLEST))
    return surprise


def bins(stated: Floats) -> tuple[float, Ints]:
    """Where the bins start, and the bin of each."""
    low = 0.5 if stated.min(initial=1.0) >= 0.5 else 0.0
    return low, equal_width_bins(stated, low, N_BINS)


def numbers(means: Floats) -> Floats:
    """(..., N_MEANS + 1): the means, and the calibration error from what the bins are off by."""
    error = np.abs(means[..., N_MEANS:]).sum(axis=-1, keepdims=True)
    return np.concatenate([means[..., :N_MEANS], error], axis=-1)


def resampled(teams: Sequence[Rows], draws: Draws) -> Floats:
    """(resamples, teams, N_MEANS)."""

    def values(rows: slice) -> Floats:
        return np.concatenate([team.values(rows)[:, :N_MEANS] for team in teams], axis=1)

    n = draws.resamples if draws.can_vary else 0
    found = np.empty((n, len(teams), N_MEANS))
    for which, means in draws.each_mean(values, N_MEANS * len(teams)):
        found[which] = means.reshape(len(means), len(teams), N_MEANS)
    return found
