"""The maximum of a likelihood of few parameters that costs much to evaluate, standard deviations of 0 allowed; profiles of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.estimates import Z95
from analysis.stats.newton import minimise

LARGEST = 30.0  # log-odds: beyond this no parameter means anything, the data have no maximum
LEAST_CURVATURE = 1e-8
BESIDE_0 = 0.02  # log-odds
PARTICIPANTS, ITEMS = -2, -1  # places of the standard deviations among the parameters
LogLikelihood = Callable[[Floats], float]  # of (beta..., sd of participants, sd of items)


@dataclass(frozen=True)
class Optimum:
    """at: (k,). curvature: (k, k) negative second derivatives there; its inverse is the covariance of a log-likelihood."""

    at: Floats
    value: float
    curvature: Floats
    converged: bool


def optimise(
    function: Callable[[Floats], float],
    start: Floats,
    *,
    step: float = 0.01,
    tolerance: float = 1e-6,
    rounds: int = 30,
) -> Optimum:
    """The maximum by Newton's method on central differences, 2k + k(k - 1)/2 + 1 evaluations a round, from `start` (k,).

    The last step is one that promises less than `tolerance`. Where the function curves upwards (a saddle: it is even in
    each standard deviation, so it does at 0) the step goes uphill all the same, since curvatures enter by their size; no
    parameter moves by more than 1 at once. Differences are taken over 0.03 standard errors, `step` at most. scipy's BFGS
    evaluates the function as often and stops ten times as far from the maximum.

    >>> optimise(lambda x: -(x[0] - 3) ** 2 - (x[1] + 1) ** 2, np.zeros(2)).at.round(6)
    array([ 3., -1.])
    """
    problem = _Differences(function, np.full(np.shape(start), step), step, tolerance)
    found = minimise(
        problem, start[None], max_steps=rounds, slack=1e-11, largest=LARGEST, must_converge=False
    )
    value, converged = -float(found.loss[0]), bool(found.converged[0])
    return Optimum(found.at[0], value, problem.curvature, converged)


class _Differences:
    """newton.Problem of one function to be maximised. `curvature` is that of the last step, `widths` are for the next."""

    def __init__(
        self, function: Callable[[Floats], float], widths: Floats, widest: float, tolerance: float
    ) -> None:
        self.function, self.widths, self.widest, self.tolerance = (
            function,
            widths,
            widest,
            tolerance,
        )
        self.curvature: Floats = np.eye(0)

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        values = np.array([-self.function(one) for one in at])
        return values, values.copy()

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        middle, value, moves = at[0], -float(loss[0]), np.diag(self.widths)
        up = np.array([self.function(middle + move) for move in moves])
        down = np.array([self.function(middle - move) for move in moves])
        gradient = (up - down) / (2 * self.widths)
        # Negative second derivatives
        curvature = np.diag(-(up + down - 2 * value) / self.widths**2)
        for i, j in zip(*np.tril_indices(len(middle), -1), strict=True):
            mixed = self.function(middle + moves[i] + moves[j]) - up[i] - up[j] + value
            curvature[i, j] = curvature[j, i] = -mixed / (self.widths[i] * self.widths[j])
        sizes, axes = np.linalg.eigh(curvature)
        sizes = np.maximum(np.abs(sizes), LEAST_CURVATURE)
        move = axes @ ((axes.T @ gradient) / sizes)
        is_last = gradient @ move / 2 < self.tolerance
        move *= min(1.0, 1.0 / np.abs(move).max()) if move.any() else 1.0
        self.curvature = curvature
        errors = 1 / np.sqrt(np.maximum(np.abs(np.diag(curvature)), LEAST_CURVATURE))
        self.widths = np.clip(0.03 * errors, 1e-4, self.widest)
        return -move[None], np.array([is_last])


def find_optimum(likelihood: LogLikelihood, start: Floats) -> tuple[Optimum, dict[int, Optimum]]:
    """The optimum over (beta..., sd of participants, sd of items), and those with either sd at 0 (keys PARTICIPANTS, ITEMS).

    Built up from none: an effect that does not raise the likelihood from 0 stays at 0, the boundary. `start` holds the
    standard deviations to begin with where an effect is freed.
    """
    neither = optimum_given(likelihood, start, {PARTICIPANTS: 0.0, ITEMS: 0.0})
    without = {
        absent: _freed(likelihood, neither, present, start, {absent: 0.0})
        for absent, present in ((PARTICIPANTS, ITEMS), (ITEMS, PARTICIPANTS))
    }
    sds = without[ITEMS].at[PARTICIPANTS], without[PARTICIPANTS].at[ITEMS]
    guess = np.r_[start[:-2], [sd or 0.2 for sd in sds]]
    for absent, smaller in without.items():
        if not _rises(likelihood, smaller, absent):
            return smaller, without
    best = _freed(likelihood, without[PARTICIPANTS], PARTICIPANTS, guess, {}, tolerance=1e-5)
    return best, without


def _rises(likelihood: LogLikelihood, smaller: Optimum, index: int) -> bool:
    """True if the log-likelihood rises as the standard deviation `index` leaves 0."""
    beside = smaller.at.copy()
    beside[index] = BESIDE_0
    return likelihood(beside) > smaller.value


def _freed(
    likelihood: LogLikelihood,
    smaller: Optimum,
    index: int,
    guess: Floats,
    held: dict[int, float],
    tolerance: float = 1e-4,
) -> Optimum:
    """The optimum with the standard deviation `index` freed from 0; `smaller` itself if the likelihood falls there."""
    if not _rises(likelihood, smaller, index):
        return smaller
    start = np.where(np.arange(len(guess)) < len(guess) - 2, smaller.at, guess)
    found = optimum_given(likelihood, start, held, tolerance)
    return replace(found, at=np.r_[found.at[:-2], np.abs(found.at[-2:])])


def optimum_given(
    likelihood: LogLikelihood, start: Floats, held: dict[int, float], tolerance: float = 1e-4
) -> Optimum:
    """The optimum with some parameters (counted from the end) held; their curvature there is infinite."""
    k = len(start)
    fixed = np.array(start, dtype=float)
    fixed[list(held)] = list(held.values())
    free = np.setdiff1d(np.arange(k), [k + index for index in held])

    def whole(part: Floats) -> Floats:
        full = fixed.copy()
        full[free] = part
        return full

    found = optimise(lambda part: likelihood(whole(part)), fixed[free], tolerance=tolerance)
    curvature = np.diag(np.full(k, np.inf))
    curvature[np.ix_(free, free)] = found.curvature
    return replace(found, at=whole(found.at), curvature=curvature)


def covariance_of(optimum: Optimum) -> Floats:
    """(k, k) inverse curvature; rows and columns of parameters held fixed are 0."""
    free = np.isfinite(np.diag(optimum.curvature))
    inverse = np.zeros_like(optimum.curvature)
    inverse[np.ix_(free, free)] = np.linalg.pinv(optimum.curvature[np.ix_(free, free)])
    return inverse


def profile_limit(likelihood: LogLikelihood, optimum: Optimum, index: int, se: float) -> float:
    """Where the profile log-likelihood is 1.92 below the optimum (on the side of `se`), by secants on its signed root."""
    sd = float(optimum.at[index])
    old, old_miss = sd, -Z95
    new = max(sd + Z95 * (se or 0.3), 1e-3)
    start = optimum.at
    for _ in range(10):
        profile = optimum_given(likelihood, start, {index: new}, tolerance=1e-3)
        start = profile.at
        miss = math.sqrt(max(0.0, 2 * (optimum.value - profile.value))) - Z95
        if abs(miss) < 1e-3:
            break
        slope = (miss - old_miss) / (new - old) if new != old else 0.0
        if not slope:
            break
        old, old_miss, new = new, miss, max(new - miss / slope, new / 4)
    return new
