"""The posterior against sums over a fine grid, where two parameters leave room for one."""

import numpy as np
import pytest

from analysis.teams.domain.bayes.model import Layout
from analysis.teams.domain.bayes.posterior import fit, log_density, mode_of
from tests.analysis.teams.domain.bayes.simulation import simulate

PEOPLE, MODEL = Layout(0, 1), Layout(1, 0)


def grid_of(layout, items, centre, reach, n=81):
    """Points around `centre` (n x n, 2) and their shares of the posterior."""
    axes = [np.linspace(c - r, c + r, n) for c, r in zip(centre, reach, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p = log_density(layout, points, items)
    shares = np.exp(log_p - log_p.max())
    return points, shares / shares.sum()


@pytest.mark.parametrize(
    ("layout", "n_items"), [(PEOPLE, 6), (PEOPLE, 60), (MODEL, 5), (MODEL, 60)]
)
def test_draws_have_the_means_and_spread_of_the_posterior(layout, n_items):
    truth = np.array([0.8, -0.5])
    items = simulate(layout, truth, n_items, 5, np.random.default_rng(n_items))
    found = fit(layout, items, draws=2000)
    weights, mean = found.weights, found.weights @ found.theta
    sd = np.sqrt(weights @ (found.theta - mean) ** 2)
    points, shares = grid_of(layout, items, mean, 7 * sd)
    known = shares @ points
    known_sd = np.sqrt(shares @ (points - known) ** 2)
    n = found.diagnostics.ess
    assert found.diagnostics.converged
    assert np.abs(mean - known).max() < 5 * known_sd.max() / np.sqrt(n)
    assert sd == pytest.approx(known_sd, rel=5 * 1.5 / np.sqrt(n))


def test_the_mode_is_found_from_afar_and_from_nearby():
    layout = Layout(2, 3, True)
    rng = np.random.default_rng(1)
    theta = layout.prior_mean + 0.3
    items = simulate(layout, theta, 60, 5, rng)
    mode = mode_of(layout, items)
    assert mode.found
    again = mode_of(layout, items, mode.theta + rng.normal(0, 0.5, len(theta)))
    assert again.theta == pytest.approx(mode.theta, abs=1e-3)
    around = mode.theta + rng.normal(0, 0.05, (50, len(theta)))
    assert (
        log_density(layout, around, items).max() < log_density(layout, mode.theta[None], items)[0]
    )
