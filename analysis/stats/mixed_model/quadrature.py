"""Log-likelihood of the model of `laplace` with the effects of one factor integrated by adaptive quadrature, then the other's.

Let a be the factor with more levels and l_j(u) the log of level j's integral over its effect, given the effects u of factor b:

    log L = log of the integral of exp F(u) du,   F(u) = sum_j l_j(u) - |u|^2 / 2 + constant.

l_j is Gauss-Hermite quadrature around the mode, as wide as the curvature there says (Liu and Pierce 1994, Biometrika 81;
Pinheiro and Bates 1995, J. Comput. Graph. Stat. 4(1)). The integral over u is Laplace's approximation at the mode of F, times,
for every level of b, quadrature along its own effect over Laplace's value of that. Where one standard deviation is 0, only
integrals over single effects are left, and the result is exact but for the number of nodes. Where neither is, what is left out is
how the skewness of several levels of b acts together: it grows with both and goes with either, so no rule has to say when to switch.
"""

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.special import expit

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.mixed_model.laplace import TOLERANCE, LaplaceLikelihood, sums
from analysis.stats.newton import minimise

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
# For integrals of exp(...) around a mode, in units of the width there
LOG_WEIGHTS: Floats = np.log(WEIGHTS / WEIGHTS.sum()) + NODES**2 / 2


class TooFewNodes(ArithmeticError):
    """An effect varies so much (by about ten log-odds) that the nodes do not describe its integral."""


class QuadratureLikelihood:
    """Called with (beta..., sd of `first`, sd of `second`) it returns log L; arguments as LaplaceLikelihood has them.

    All levels from 0 to the largest must occur. Raises TooFewNodes.
    """

    def __init__(self, y: npt.ArrayLike, x: Floats, first: Ints, second: Ints) -> None:
        self.laplace = LaplaceLikelihood(y, x, first, second)
        data = self.laplace
        self.level_starts = np.flatnonzero(np.diff(data.a, prepend=-1))
        self.cell_starts = np.flatnonzero(np.diff(data.cell, prepend=-1))
        self.cell_a, self.cell_b = data.a[self.cell_starts], data.b[self.cell_starts]
        # Of the call before: the next one is near, and saves steps and factoring
        self.mode: Floats = np.zeros(data.n_b)
        self.factor: Floats | None = None

    def __call__(self, theta: Floats) -> float:
        self.laplace(theta)
        try:
            with np.errstate(all="ignore"):
                outer = _Outer(self, theta)
                if outer.sd_b:
                    found = minimise(
                        outer,
                        self.mode[None],
                        max_steps=100,
                        max_halvings=20,
                        slack=1e-10,
                        must_converge=False,
                    )
                    self.mode = found.at[0]
                    curvature = outer.curvature(found.state[0])
                    self.factor = linalg.cholesky(curvature, lower=True)
                    half_log_det = float(np.log(np.diag(self.factor)).sum())
                    beyond = outer.beyond_laplace(self.mode, found.state[0], np.diag(curvature))
                    value = -float(found.loss[0]) - half_log_det + beyond
                else:
                    at = np.zeros((1, len(self.mode)))
                    value = -float(outer.loss(at, np.zeros(1, int))[0][0])
        except linalg.LinAlgError as error:
            raise TooFewNodes from error
        if not np.isfinite(value):
            raise TooFewNodes
        return value


class _Outer:
    """newton.Problem of minus F at these parameters; its state are the answers' log-probabilities, (nodes, trials).

    As in `laplace`, a factored curvature is used again while steps shrink quickly.
    """

    def __init__(self, data: QuadratureLikelihood, theta: Floats) -> None:
        known = data.laplace
        self.data, self.known, self.factor = data, known, data.factor
        sds = (theta[-1], theta[-2]) if known.swapped else (theta[-2], theta[-1])
        self.sd_a, self.sd_b = float(sds[0]), float(sds[1])
        a, b = known.modes()
        fixed = known.x @ theta[:-2]
        p = expit(fixed + self.sd_a * a[known.a] + self.sd_b * b[known.b])
        width = 1 / np.sqrt(1 + self.sd_a**2 * sums(known.a, p * (1 - p), known.n_a))
        one = np.zeros(1)  # node and log weight of an effect that is not there
        nodes, log_weights = (NODES, LOG_WEIGHTS) if self.sd_a else (one, one)
        effects = a + width * nodes[:, None]
        self.prior = log_weights[:, None] + np.log(width) - effects**2 / 2  # (nodes, levels of a)
        self.log_odds = fixed + self.sd_a * effects[:, known.a]  # (nodes, trials), without b's
        self.size, self.expected = np.inf, np.empty(0)

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        log_p = self._answers(at[0])
        value = _log_sum(self._levels(log_p)).sum() - at[0] @ at[0] / 2
        return -np.atleast_1d(value), log_p[None]

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        if len(self.expected) and (at[0] != self.expected).any():
            self.factor = None  # the last step was halved
        known = self.known
        share = self._shares(state[0])[:, known.a]
        residual = known.sign * (share * (1 - np.exp(state[0]))).sum(axis=0)
        uphill = self.sd_b * sums(known.b, residual, known.n_b) - at[0]
        if self.factor is None:
            self.factor = linalg.cholesky(self.curvature(state[0]), lower=True)
        step = linalg.cho_solve((self.factor, True), uphill, check_finite=False)
        size = float(np.abs(step).max())
        if size > 0.2 * self.size:
            self.factor = None
        self.size, self.expected = size, at[0] + step
        return -step[None], np.array([size < TOLERANCE])

    def curvature(self, log_p: Floats) -> Floats:
        """(levels of b, levels of b) minus the second derivatives of F.

        I + sd_b^2 (E W - covariance of the residuals), both over a's effects given the answers; the covariance is a sum
        over a's levels and nodes of products of a sparse column with itself.
        """
        known, data, q = self.known, self.data, np.exp(log_p)
        share = self._shares(log_p)
        weight = (share[:, known.a] * q * (1 - q)).sum(axis=0)
        residual = np.add.reduceat((1 - q) * known.sign, data.cell_starts, axis=1)
        share = share[:, data.cell_a]
        apart = np.sqrt(share) * (residual - (share * residual).sum(axis=0))
        columns = data.cell_a + known.n_a * np.arange(len(share))[:, None]
        rows = np.broadcast_to(data.cell_b, columns.shape)
        shape = (known.n_b, known.n_a * len(share))
        spread = sparse.csr_array((apart.ravel(), (rows.ravel(), columns.ravel())), shape=shape)
        inner = np.diag(sums(known.b, weight, known.n_b)) - (spread @ spread.T).toarray()
        return np.asarray(np.eye(known.n_b) + self.sd_b**2 * inner)

    def beyond_laplace(self, at: Floats, log_p: Floats, curvature: Floats) -> float:
        """Summed over b's levels, the log of exp(F)'s integral along the level's effect, less Laplace's value of it.

        curvature: (levels of b,) minus F's second derivatives along each. A trial's effect on its level of a is taken alone.
        """
        known, data = self.known, self.data
        shares = np.log(self._shares(log_p))[:, data.cell_a]
        width, gains = 1 / np.sqrt(curvature), []
        for node, log_weight in zip(NODES, LOG_WEIGHTS, strict=True):
            moved = at + width * node
            change = np.add.reduceat(self._answers(moved) - log_p, data.cell_starts, axis=1)
            cells = sums(data.cell_b, _log_sum(shares + change), known.n_b)
            gains.append(log_weight + cells - (moved**2 - at**2) / 2)
        return float(_log_sum(np.array(gains)).sum())

    def _answers(self, at: Floats) -> Floats:
        x = self.known.sign * (self.log_odds + self.sd_b * at[self.known.b])
        # log(1 / (1 + exp(-x))) in half of scipy's time
        return np.asarray(np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))

    def _levels(self, log_p: Floats) -> Floats:
        """(nodes, levels of a) logs of what is summed over nodes."""
        return np.asarray(self.prior + np.add.reduceat(log_p, self.data.level_starts, axis=1))

    def _shares(self, log_p: Floats) -> Floats:
        """(nodes, levels of a) how the integral of each level divides among its nodes."""
        levels = self._levels(log_p)
        return np.asarray(np.exp(levels - _log_sum(levels)))


def _log_sum(logs: Floats) -> Floats:
    """log of the sum of exponentials over the first axis, in half of scipy's time."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))
