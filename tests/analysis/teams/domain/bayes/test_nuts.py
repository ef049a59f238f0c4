"""The product's engine of the Bayesian combination against NUTS: same model, other code, other numbers drawn."""

import jax
import numpy as np
import pytest
from numpyro.infer.util import log_density as numpyro_log_density
from scipy.special import logsumexp

from analysis.stats import NotEnough
from analysis.teams.domain.bayes.combination import Bayesian
from analysis.teams.domain.bayes.likelihood import log_likelihood
from analysis.teams.domain.bayes.model import Items, Layout, count, level_bounds, ratings
from analysis.teams.domain.bayes.posterior import fit, log_density, summaries
from tests.analysis.teams.domain.bayes.nuts import _model, diagnose, sample
from tests.analysis.teams.domain.simulated import make_evidence

pytestmark = pytest.mark.sweep  # a minute of compiling and sampling
NODES = np.linspace(-9, 9, 601)


def joint(layout: Layout, items: Items, thetas: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """(thetas, nodes) log of prior times likelihood of the NumPyro model, all items having the same u."""
    with jax.enable_x64(True):
        model = _model(layout, items)

        def one(theta, u):
            values = {"theta": theta}
            if layout.n_levels:
                values["u"] = jax.numpy.full(len(items), u)
            return numpyro_log_density(model, (), {}, values)[0]

        over = jax.vmap(jax.vmap(one, (None, 0)), (0, None))
        return np.asarray(jax.jit(over)(thetas, nodes))


@pytest.mark.parametrize("has_powers", [True, False])
def test_both_engines_have_the_same_density_of_models_evidence(has_powers):
    rng = np.random.default_rng(1)
    layout = Layout(2, 0, has_powers)
    x = rng.normal(size=(5, 2))
    x[3, 1] = 0
    items = Items(np.arange(5), x, np.zeros((5, 0)))
    thetas = rng.normal(0, 0.5, (3, layout.n_parameters))
    ours = log_density(layout, thetas, items)
    assert joint(layout, items, thetas, np.zeros(1))[:, 0] == pytest.approx(ours, abs=1e-10)


@pytest.mark.parametrize("layout", [Layout(3, 3, True), Layout(0, 1)])
def test_integrating_what_the_second_engine_draws_gives_the_density_of_the_first(layout):
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 3, (1, 2 * layout.n_levels)).astype(float)
    items = Items(np.arange(1), rng.normal(size=(1, layout.n_models)), counts)
    # Not so far from the data that u would have to lie beyond the first engine's nodes
    thetas = rng.normal(0, 0.25, (3, layout.n_parameters))
    # NumPyro's joint holds the density of u; a fine grid integrates it. The first engine's rule is made finer too: how near
    # its usual nodes come is tested where they are chosen
    at_nodes = joint(layout, items, thetas, NODES)
    integral = logsumexp(at_nodes, axis=1) + np.log(NODES[1] - NODES[0])
    ours = layout.log_prior(thetas) + log_likelihood(layout, thetas, items, finer=8)[:, 0]
    assert integral == pytest.approx(ours, abs=1e-5)


@pytest.fixture(scope="module")
def pair():
    return make_evidence(n_items=30, per_item=4, rho=0.4, human_human=0.4)


def test_two_engines_agree_within_their_monte_carlo_error(pair):
    found = sample(pair, draws=400, warmup=300)
    checks = found.diagnostics
    assert found.layout.has_powers
    assert Bayesian().has_powers
    assert checks.r_hat_max < 1.02
    assert checks.n_divergences == 0
    assert checks.converged
    items = count(pair, level_bounds(ratings(pair), 3))
    known = fit(found.layout, items, draws=3000)
    ours = found.summaries()
    theirs = summaries(known.layout, known.theta, known.weights)
    assert list(ours) == list(theirs)
    # Standard errors of a mean and of a standard deviation, the latter twice the normal one as tails are heavier
    of_mean = np.sqrt(1 / checks.ess_min + 1 / known.diagnostics.ess)
    for name, row in theirs.items():
        assert ours[name].mean == pytest.approx(row.mean, abs=4 * of_mean * row.sd), name
        assert ours[name].sd == pytest.approx(row.sd, rel=4 * 2 * of_mean / np.sqrt(2)), name
    assert checks.r_hat.keys() == set(found.layout.names)


def test_chains_that_disagree_or_diverge_have_not_converged():
    rng = np.random.default_rng(4)
    draws = rng.normal(size=(4, 500, 2))
    good = diagnose(draws, ("a", "b"), 0)
    assert good.converged
    assert good.r_hat_max < 1.01
    assert good.ess["b"] == pytest.approx(2000, rel=0.25)
    assert not diagnose(draws, ("a", "b"), 1).converged
    draws[0, :, 1] += 1
    apart = diagnose(draws, ("a", "b"), 0)
    assert apart.r_hat["b"] > 1.05
    assert apart.r_hat["a"] < 1.01
    assert not apart.converged


def test_evidence_that_does_not_vary_answers_with_a_reason(pair):
    with pytest.raises(NotEnough, match="There are 2 items for 1 model"):
        sample(pair.rows(pair.item < 2))
