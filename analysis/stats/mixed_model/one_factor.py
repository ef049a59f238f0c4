"""The likelihood of `laplace` where one factor alone varies: each level by itself, levels with equal counts together.

The levels are then independent, and their counts n of trials and k of correct ones say all there is to know. A million
trials of people with ten trials each are some sixty pairs (n, k), each as often as there are people with it.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.mixed_model.laplace import TOLERANCE
from analysis.stats.newton import minimise


class OneFactor:
    """Called with (intercept, sd) it returns log L of y (n,) bool over `level` (n,) from 0, by Laplace's approximation."""

    def __init__(self, y: npt.ArrayLike, level: Ints) -> None:
        n = np.bincount(level)
        k = np.bincount(level, np.asarray(y, dtype=np.float64), len(n)).astype(np.int64)
        pairs, counts = np.unique(np.stack([n, k])[:, n > 0], axis=1, return_counts=True)
        self.n, self.k = pairs.astype(np.float64)
        self.levels = counts.astype(np.float64)
        self.mode: Floats = np.zeros(len(counts))

    def __call__(self, intercept: float, sd: float) -> float:
        problem = _Modes(self, intercept, sd)
        found = minimise(
            problem,
            self.mode[:, None],
            max_steps=200,
            max_halvings=20,
            slack=1e-12,
            must_converge=False,
        )
        self.mode = found.at[:, 0]
        q = found.state
        curvature = 1 + sd**2 * self.n * q * (1 - q)
        return -float(self.levels @ (found.loss + np.log(curvature) / 2))


class _Modes:
    """newton.Problem of each pair's effect, in standard deviations; its state are the chances of a correct answer."""

    def __init__(self, data: OneFactor, intercept: float, sd: float) -> None:
        self.data, self.intercept, self.sd = data, intercept, sd

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        log_odds = self.intercept + self.sd * at[:, 0]
        right, wrong = self.data.k[fits], (self.data.n - self.data.k)[fits]
        logs = right * np.logaddexp(0, -log_odds) + wrong * np.logaddexp(0, log_odds)
        return logs + at[:, 0] ** 2 / 2, expit(log_odds)

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        n, k = self.data.n[fits], self.data.k[fits]
        gradient = at[:, 0] - self.sd * (k - n * state)
        step = gradient / (1 + self.sd**2 * n * state * (1 - state))
        return step[:, None], np.abs(step) < TOLERANCE
