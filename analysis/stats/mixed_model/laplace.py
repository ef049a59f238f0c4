"""Log-likelihood of a logistic model with two crossed random intercepts, by the Laplace approximation.

Trial t of person a(t) with item b(t):  P(correct) = expit(x_t beta + sd_a u_a(t) + sd_b v_b(t)),  u, v ~ N(0, 1).
With m = (u, v) at its mode and H = Z'WZ + I the negative second derivatives there (Z: the two columns of every trial
scaled by the standard deviations, W = diag(p(1 - p))):

    log L = sum log P(y_t | m) - |m|^2 / 2 - log det(H) / 2.

The block of the factor with more levels is diagonal, so it is eliminated: what is solved and factored is the Schur
complement over the other factor's levels, dense. One evaluation takes O(trials) and one sum over pairs of a level's trials.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.newton import minimise

TOLERANCE = 1e-9  # of the modes, in standard deviations
DENSE_SHARE = (
    0.02  # of the cells that hold a trial; above, dense products are faster than sparse ones
)
BLOCK = 4_000_000  # cells of a dense block


@dataclass(frozen=True)
class _Factor:
    """H in factored form. `cross` holds the rows of the eliminated levels; None where the factors do not meet."""

    eliminated: Floats
    schur: Floats  # lower Cholesky factor; where `cross` is None the diagonal itself
    cross: sparse.csr_array | None

    def log_det(self) -> float:
        """log det H."""
        inner = np.log(self.schur) if self.cross is None else 2 * np.log(np.diag(self.schur))
        return float(np.log(self.eliminated).sum() + inner.sum())

    def solve(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """H^-1 (first, second)."""
        if self.cross is None:
            return first / self.eliminated, second / self.schur
        right = second - self.cross.T @ (first / self.eliminated)
        second = linalg.cho_solve((self.schur, True), right, check_finite=False)
        return (first - self.cross @ second) / self.eliminated, second


class LaplaceLikelihood:
    """Called with (beta..., sd of `first`, sd of `second`) it returns log L.

    y: (n,) bool. x: (n, k) covariates, the intercept among them. first, second: (n,) levels 0..max of both factors.
    It is even in each standard deviation, and smooth through 0, where the effect is left out. Each call starts
    from the modes of the one before: that saves time and alters nothing but the last digits (1e-9).
    """

    def __init__(self, y: npt.ArrayLike, x: Floats, first: Ints, second: Ints) -> None:
        self.swapped = int(first.max()) < int(second.max())
        a, b = (second, first) if self.swapped else (first, second)
        order = np.lexsort((b, a))
        self.a, self.b, self.x = a[order], b[order], x[order]
        self.sign = np.where(np.asarray(y, dtype=bool)[order], 1.0, -1.0)
        self.n_a, self.n_b = int(a.max()) + 1, int(b.max()) + 1
        # The pattern of persons by items; a pair that meets twice shares a cell
        new = np.ones(len(self.a), dtype=bool)
        new[1:] = (np.diff(self.a) != 0) | (np.diff(self.b) != 0)
        self.cell = np.cumsum(new) - 1
        self.rows, self.columns = self.a[new], self.b[new]
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=self.n_a))])
        self.dense = len(self.rows) > DENSE_SHARE * self.n_a * self.n_b
        self._modes: Floats = np.zeros(self.n_a + self.n_b)
        self.latest: _Factor | None = None

    @cached_property
    def firsts(self) -> list[Ints]:
        """Cells that have another of the same row 0, 1, 2 ... places after them."""
        found: list[Ints] = []
        first, ends = np.arange(len(self.rows)), self.starts[self.rows + 1]
        while len(first):
            found.append(first.astype(np.int32))
            first = first[first + len(found) < ends[first]]
        return found

    def __call__(self, theta: Floats) -> float:
        sds = (theta[-1], theta[-2]) if self.swapped else (theta[-2], theta[-1])
        problem = _Modes(self, self.x @ theta[:-2], float(sds[0]), float(sds[1]))
        found = minimise(
            problem,
            self._modes[None],
            max_steps=200,
            max_halvings=20,
            slack=1e-9,
            must_converge=False,
        )
        self._modes = found.at[0]
        self.latest = problem.factorise(found.state[0])
        return -float(found.loss[0]) - self.latest.log_det() / 2

    def modes(self) -> tuple[Floats, Floats]:
        """(levels of a,), (levels of b,): the effects' modes of the last call, in standard deviations; a has more levels."""
        return self._modes[: self.n_a], self._modes[self.n_a :]

    def factorise(self, weights: Floats, sd_a: float, sd_b: float) -> _Factor:
        """H of trials with these weights p (1 - p), (n,)."""
        d_a = 1 + sd_a**2 * sums(self.a, weights, self.n_a)
        d_b = 1 + sd_b**2 * sums(self.b, weights, self.n_b)
        if sd_a * sd_b == 0:
            return _Factor(d_a, d_b, None)
        cells = sd_a * sd_b * sums(self.cell, weights, 0)
        shape = (self.n_a, self.n_b)
        cross = sparse.csr_array((cells, self.columns, self.starts), shape=shape)
        # The lower triangle of cross' diag(1 / d_a) cross
        inner = np.zeros((self.n_b, self.n_b))
        if self.dense:
            rows = max(1, BLOCK // self.n_b)
            for start in range(0, self.n_a, rows):
                block = cross[start : start + rows].toarray()
                block /= np.sqrt(d_a[start : start + rows, None])
                inner += block.T @ block
        else:
            # Products of each two cells of a row, summed by their columns: a quarter of the time of a sparse product
            scaled, flat = cells / np.sqrt(d_a)[self.rows], inner.reshape(-1)
            for places, first in enumerate(self.firsts):
                second = first + places
                pair = self.columns[second] * self.n_b + self.columns[first]
                np.add.at(flat, pair, scaled[first] * scaled[second])
        schur: Floats = np.diag(d_b) - inner
        return _Factor(
            d_a, linalg.cholesky(schur, lower=True, overwrite_a=True, check_finite=False), cross
        )


class _Modes:
    """newton.Problem: the effects at which the log-density of answers and effects is highest, for given parameters.

    The factored Hessian is used again while steps shrink quickly, also from the likelihood's call before: factoring it
    costs the most. So the steps are not quite Newton's, and their size, not the decrease they promise, decides which is the last.
    """

    def __init__(self, data: LaplaceLikelihood, fixed: Floats, sd_a: float, sd_b: float) -> None:
        self.data, self.fixed, self.sd_a, self.sd_b = data, fixed, sd_a, sd_b
        self.factor = data.latest
        self.size, self.expected = np.inf, np.empty(0)

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        """(1,) minus the log-density at these effects, and (1, n) the probabilities of the answers that were given."""
        a, b = at[0, : self.data.n_a], at[0, self.data.n_a :]
        log_odds = self.fixed + (self.sd_a * a)[self.data.a] + (self.sd_b * b)[self.data.b]
        with np.errstate(divide="ignore", over="ignore"):
            # In a third of scipy's time
            q = 1 / (1 + np.exp(-self.data.sign * log_odds))
            return -np.atleast_1d(np.log(q).sum() - (a @ a + b @ b) / 2), q[None]

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        data, q = self.data, state[0]
        a, b = at[0, : data.n_a], at[0, data.n_a :]
        if len(self.expected) and (at[0] != self.expected).any():
            self.factor = None  # the last step was halved
        residual = data.sign * (1 - q)
        to_a = self.sd_a * sums(data.a, residual, data.n_a) - a
        to_b = self.sd_b * sums(data.b, residual, data.n_b) - b
        self.factor = self.factor or self.factorise(q)
        step = np.concatenate(self.factor.solve(to_a, to_b))
        size = float(np.abs(step).max())
        if size > 0.2 * self.size:
            self.factor = None
        self.size, self.expected = size, at[0] + step
        return -step[None], np.array([size < TOLERANCE])

    def factorise(self, q: Floats) -> _Factor:
        return self.data.factorise(q * (1 - q), self.sd_a, self.sd_b)


def sums(levels: Ints, values: Floats, n: int) -> Floats:
    """(n,) the sum of the values of each level."""
    sums: Floats = np.bincount(levels, values, n).astype(np.float64, copy=False)
    return sums
