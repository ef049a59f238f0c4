"""The likelihood of correlated judgments against integrals by scipy, sums over all answers and finite differences."""

from math import inf, log

import numpy as np
import pytest
from scipy import integrate, stats

from analysis.teams.domain.bayes.likelihood import gradient, log_likelihood
from analysis.teams.domain.bayes.model import Items, Layout
from analysis.teams.domain.bayes.posterior import derived
from tests.analysis.teams.domain.bayes.simulation import draw_prior, simulate

LAYOUTS = [
    Layout(1, 3, True),
    Layout(0, 3),
    Layout(2, 0, True),
    Layout(3, 2),
    Layout(2, 1, True),
    Layout(1, 4),
]


def near_prior_mean(layout, n, seed=1):
    theta = draw_prior(layout, n, np.random.default_rng(seed))
    return layout.prior_mean + 0.4 * (theta - layout.prior_mean) / np.maximum(1, layout.prior_sd)


def by_scipy(layout, theta, x, answers):
    """Log density of one item's evidence and its answers, each a category from 0."""
    at = layout.unpack(theta[None])
    sigma, power, d = at.sigma[0], at.power[0], at.d[0]
    z = np.sign(x) * np.abs(x / sigma) ** power
    found = 0.0
    if layout.n_models:
        r = at.cholesky[0] @ at.cholesky[0].T
        found = stats.multivariate_normal(d, r).logpdf(z)
        found += np.log(power / sigma * np.abs(x / sigma) ** (power - 1)).sum()
    if layout.n_levels:
        mean = at.delta[0] + at.gamma[0] @ (z - d)
        edges = [-inf, *-at.cuts[0][::-1], 0.0, *at.cuts[0], inf]

        def density(u):
            h = stats.norm(mean + at.omega[0] * u)
            chances = [h.cdf(edges[a + 1]) - h.cdf(edges[a]) for a in answers]
            return stats.norm.pdf(u) * np.prod(chances)

        found += log(integrate.quad(density, -9, 9, epsabs=0, epsrel=1e-8, limit=200)[0])
    return found


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("n_answers", [1, 4])
def test_an_item_has_the_density_that_scipy_integrates(layout, n_answers):
    (theta,) = near_prior_mean(layout, 1, seed=n_answers)
    rng = np.random.default_rng(2)
    for x in rng.normal(0.5, 1, (2, layout.n_models)):
        answers = rng.integers(0, max(1, 2 * layout.n_levels), n_answers)
        counts = np.bincount(answers, minlength=2 * layout.n_levels)[: 2 * layout.n_levels]
        items = Items(np.zeros(1, dtype=int), x[None], counts[None].astype(float))
        (found,) = log_likelihood(layout, theta[None], items)[0]
        assert found == pytest.approx(by_scipy(layout, theta, x, answers), abs=2e-3)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("per_item", [1, 5])
def test_derivatives_are_those_of_the_log_likelihood(layout, per_item):
    theta = near_prior_mean(layout, 3)
    items = simulate(layout, theta[0], 20, per_item, np.random.default_rng(3))
    shifts = 1e-5 * np.eye(layout.n_parameters)
    known = [
        log_likelihood(layout, theta + s, items).sum(1)
        - log_likelihood(layout, theta - s, items).sum(1)
        for s in shifts
    ]
    found = gradient(layout, theta, items)
    assert found == pytest.approx(np.stack(known, axis=1) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("per_item", [2, 4, 9, 60])
@pytest.mark.parametrize("omega", [0.1, 1.0, 4.0, 12.0])
def test_nodes_are_close_enough_however_much_people_share(per_item, omega):
    layout = Layout(1, 3)
    theta = near_prior_mean(layout, 1, seed=4)
    theta[:, layout.slices["log_omega"]] = np.log(omega)
    items = simulate(layout, theta[0], 40, per_item, np.random.default_rng(4))
    found, finer = (log_likelihood(layout, theta, items, f) for f in (0, 5))
    # Of each item, and without a drift that would add up
    assert np.abs(found - finer).max() < 0.02
    assert np.abs((found - finer).sum()) < 0.1


def test_quantities_derived_from_parameters_agree_with_their_judgments():
    layout = Layout(2, 3)
    theta = near_prior_mean(layout, 1, seed=6)
    items = simulate(layout, theta[0], 200_000, 2, np.random.default_rng(6))
    read = {q.name: q.values[0] for q in derived(layout, theta)}
    z = items.x / np.exp(theta[0, layout.slices["log_sigma"]])
    right = items.counts[:, 3:].sum() / items.counts.sum()
    assert right == pytest.approx(read["accuracy_human"], abs=0.004)
    assert (items.x > 0).mean(0) == pytest.approx(
        [read["accuracy_model_1"], read["accuracy_model_2"]], abs=0.004
    )
    assert np.corrcoef(z.T)[0, 1] == pytest.approx(read["rho_model_1_2"], abs=0.008)
    # Both right, by the bivariate normal of two people's evidence
    both = (items.counts[:, 3:].sum(axis=1) == 2).mean()
    rho = read["rho_human_human"]
    known = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([read["d_human"]] * 2)
    assert both == pytest.approx(known, abs=0.004)
