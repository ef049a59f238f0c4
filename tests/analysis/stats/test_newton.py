"""The shared Newton solver, against statsmodels and scipy."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, special

from analysis.stats.newton import NotConverged, minimise, newton_step


class Logit:
    """Logistic regressions of the same design with different weights."""

    def __init__(self, design, target, weights, penalty=0.0):
        self.design, self.sign, self.weights, self.penalty = (
            design,
            2 * target - 1,
            weights,
            penalty,
        )
        self.asked = []

    def loss(self, at, fits):
        self.asked.append(len(fits))
        log_odds = self.sign * (at @ self.design.T)
        misfit = (self.weights[fits] * np.logaddexp(0, -log_odds)).sum(axis=1)
        return misfit + self.penalty * (at**2).sum(axis=1) / 2, log_odds

    def step(self, at, state, loss, fits):
        wrong, weights = special.expit(-state), self.weights[fits]
        gradient = -(weights * self.sign * wrong) @ self.design + self.penalty * at
        bend = weights * wrong * (1 - wrong)
        hessian = np.einsum("fn,nj,nk->fjk", bend, self.design, self.design)
        step, decrement = newton_step(gradient, hessian + self.penalty * np.eye(at.shape[1]))
        return step, decrement < 1e-12


def regressions(n_fits, seed=1, n=200, k=3):
    rng = np.random.default_rng(seed)
    design = sm.add_constant(rng.normal(size=(n, k - 1)))
    target = (rng.random(n) < special.expit(design @ [0.3, 1.0, -0.7])).astype(float)
    return design, target, rng.integers(0, 3, (n_fits, n)).astype(float)


def test_fits_with_different_weights_are_statsmodels_fits_of_repeated_rows():
    design, target, weights = regressions(6)
    found = minimise(Logit(design, target, weights), np.zeros((6, 3)))
    for row, weight in enumerate(weights.astype(int)):
        known = sm.Logit(np.repeat(target, weight), np.repeat(design, weight, axis=0)).fit(
            disp=0, tol=1e-12
        )
        np.testing.assert_allclose(found.at[row], known.params, rtol=1e-8)
        assert found.loss[row] == pytest.approx(-known.llf, rel=1e-10)


def test_a_fit_does_not_depend_on_those_beside_it_and_leaves_when_it_is_done():
    design, target, weights = regressions(5)
    starts = np.vstack([np.zeros((4, 3)), [[4.0, -4.0, 4.0]]])
    problem = Logit(design, target, weights)
    together = minimise(problem, starts)
    assert problem.asked[0] == 5 > problem.asked[-1]
    for row in range(5):
        alone = minimise(Logit(design, target, weights[[row]]), starts[[row]])
        np.testing.assert_allclose(together.at[row], alone.at[0], rtol=1e-9)


class Valley:
    """Rosenbrock's: from most places a whole Newton step goes up."""

    def loss(self, at, fits):
        return np.array([optimize.rosen(x) for x in at]), at.copy()

    def step(self, at, state, loss, fits):
        hessians = np.array([optimize.rosen_hess(x) for x in at])
        gradients = np.array([optimize.rosen_der(x) for x in at])
        step, decrement = newton_step(gradients, hessians)
        return step, np.abs(decrement) < 1e-20


def test_halved_steps_lead_through_a_curved_valley_where_scipy_ends_too():
    starts = np.array([[-1.2, 1.0], [1.5, 1.2]])
    found = minimise(Valley(), starts)
    for start, end in zip(starts, found.at, strict=True):
        known = optimize.minimize(
            optimize.rosen,
            start,
            jac=optimize.rosen_der,
            hess=optimize.rosen_hess,
            method="trust-exact",
        )
        np.testing.assert_allclose(end, known.x, atol=1e-6)


def test_a_missing_minimum_is_an_error_unless_the_last_place_will_do():
    design = np.column_stack([np.ones(6), np.arange(6.0)])
    problem = Logit(design, (np.arange(6) > 2).astype(float), np.ones((1, 6)))
    with pytest.raises(NotConverged, match="1 of 1"):
        minimise(problem, np.zeros((1, 2)), largest=20.0)
    found = minimise(problem, np.zeros((1, 2)), largest=20.0, must_converge=False)
    assert not found.converged[0]
    assert np.abs(found.at).max() > 20
    with pytest.raises(NotConverged):
        minimise(Valley(), np.array([[-1.2, 1.0]]), max_steps=3)
