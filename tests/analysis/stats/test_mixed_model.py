"""The logistic mixed model with crossed random intercepts, against dense algebra, other optimisers and a known truth."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import integrate, optimize, stats
from scipy.special import expit
from threadpoolctl import threadpool_limits

from analysis.stats import NotEnough
from analysis.stats.mixed_model.laplace import LaplaceLikelihood
from analysis.stats.mixed_model.model import fit, marginal_accuracy
from analysis.stats.mixed_model.one_factor import OneFactor
from analysis.stats.mixed_model.quadrature import QuadratureLikelihood
from tests.analysis.made import make_data


@pytest.fixture(autouse=True)
def one_thread():
    """As the report does: for matrices this small a second thread only waits."""
    with threadpool_limits(1):
        yield


def arrays(data):
    trials = data.trials
    who, item = trials["participant"].to_numpy(), trials["item"].to_numpy()
    return trials["is_correct"].to_numpy(), who, item


def likelihood(y, who, item):
    return LaplaceLikelihood(y, np.ones((len(y), 1)), who, item)


def columns(who, item, sd_who, sd_item):
    """One column per level, scaled by the standard deviation of its factor."""
    people = (who[:, None] == np.arange(who.max() + 1)) * sd_who
    return np.hstack([people, (item[:, None] == np.arange(item.max() + 1)) * sd_item])


def dense_laplace(y, who, item, intercept, sd_who, sd_item):
    """The same approximation from its definition: a general optimiser and one dense matrix."""
    z, sign = columns(who, item, sd_who, sd_item), np.where(y, 1, -1)

    def negative(u):
        return np.logaddexp(0, -sign * (intercept + z @ u)).sum() + u @ u / 2

    def slope(u):
        return u - z.T @ (y - expit(intercept + z @ u))

    found = optimize.minimize(
        negative, np.zeros(z.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-8}
    )
    p = expit(intercept + z @ found.x)
    hessian = z.T @ (z * (p * (1 - p))[:, None]) + np.eye(z.shape[1])
    return -found.fun - np.linalg.slogdet(hessian)[1] / 2


@pytest.mark.parametrize("shape", [(14, 9), (7, 20)])
@pytest.mark.parametrize("sds", [(0.7, 1.1), (0.0, 0.9), (2.5, 0.3), (0.0, 0.0)])
def test_the_likelihood_is_that_of_dense_algebra(shape, sds):
    y, who, item = arrays(
        make_data(seed=2, n_participants=shape[0], n_items=shape[1], trials_each=6)
    )
    value = likelihood(y, who, item)(np.array([0.4, *sds]))
    assert value == pytest.approx(dense_laplace(y, who, item, 0.4, *sds), rel=1e-9)


@pytest.mark.parametrize(("n", "within"), [(60, 0.05), (900, 0.004)])
def test_with_one_factor_of_few_levels_it_nears_the_exact_likelihood(n, within):
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(6), n)
    y = rng.random(6 * n) < expit(0.5 + 0.8 * rng.normal(size=6)[who])
    exact = 0.0
    for right in np.bincount(who, y):
        top = right * np.log(right / n) + (n - right) * np.log(1 - right / n)

        def chance(u, right=right, top=top):
            p = expit(0.5 + 0.8 * u)
            log_p = right * np.log(p) + (n - right) * np.log(1 - p)
            return np.exp(log_p - top) * stats.norm.pdf(u)

        exact += top + np.log(integrate.quad(chance, -6, 6, epsrel=1e-10, limit=500)[0])
    value = likelihood(y, who, np.tile(np.arange(n), 6))(np.array([0.5, 0.8, 0.0]))
    assert value == pytest.approx(exact, abs=within)


def test_sparse_and_dense_products_are_the_same():
    y, who, item = arrays(make_data(seed=5, n_participants=60, n_items=40, trials_each=5))
    found, other = likelihood(y, who, item), likelihood(y, who, item)
    other.dense = not found.dense
    theta = np.array([0.3, 0.6, 0.9])
    assert found(theta) == pytest.approx(other(theta), rel=1e-12)


@pytest.mark.parametrize("sd", [0.0, 0.7, -1.3])
def test_where_one_factor_alone_varies_counts_say_the_same(sd):
    y, who, item = arrays(make_data(seed=5, n_participants=60, n_items=40, trials_each=5))
    whole = likelihood(y, who, item)
    assert OneFactor(y, who)(0.3, sd) == pytest.approx(whole(np.array([0.3, sd, 0])), rel=1e-12)
    assert OneFactor(y, item)(0.3, sd) == pytest.approx(whole(np.array([0.3, 0, sd])), rel=1e-12)


def test_a_trial_twice_shares_a_cell_and_counts_twice():
    y, who, item = arrays(make_data(seed=5, n_participants=12, n_items=8, trials_each=5))
    twice = np.repeat(np.arange(len(y)), 2)
    value = likelihood(y[twice], who[twice], item[twice])(np.array([0.2, 0.5, 0.5]))
    expected = dense_laplace(y[twice], who[twice], item[twice], 0.2, 0.5, 0.5)
    assert value == pytest.approx(expected, rel=1e-9)


def test_without_random_effects_it_is_a_logistic_regression():
    data = make_data(seed=6, confidence_slope=0.5)
    y, who, item = arrays(data)
    x = (data.trials["confidence"].to_numpy() - 50) / 29
    found = fit(y, who, item, x, sds=(0.0, 0.0))
    plain = sm.Logit(y.astype(float), sm.add_constant(x)).fit(disp=False)
    estimates = [c.estimate for c in found.coefficients]
    np.testing.assert_allclose(estimates, plain.params, rtol=1e-5)
    np.testing.assert_allclose([c.se for c in found.coefficients], plain.bse, rtol=2e-3)
    np.testing.assert_allclose([c.p for c in found.coefficients], plain.pvalues, rtol=0.05)
    assert found.log_likelihood == pytest.approx(plain.llf, rel=1e-8)


def test_the_top_is_where_another_optimiser_finds_it():
    y, who, item = arrays(make_data(seed=7, n_participants=60, n_items=30, trials_each=10))
    found = fit(y, who, item)
    value = QuadratureLikelihood(y, np.ones((len(y), 1)), who, item)
    other = optimize.minimize(
        lambda t: -value(t),
        [0.2, 1.0, 1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-5, "fatol": 1e-8},
    )
    here = [found.coefficients[0].estimate, found.participants.estimate, found.items.estimate]
    np.testing.assert_allclose(here, np.abs(other.x), atol=2e-3)
    assert found.log_likelihood == pytest.approx(-other.fun, abs=1e-5)


def test_profile_limits_lie_1_92_below_the_top():
    y, who, item = arrays(make_data(seed=7, n_participants=60, n_items=30, trials_each=10))
    found = fit(y, who, item)
    value = QuadratureLikelihood(y, np.ones((len(y), 1)), who, item)
    for limit in found.items.ci95:
        beside = optimize.minimize(
            lambda t, sd=limit: -value(np.array([t[0], t[1], sd])), [0.5, 0.5], method="Nelder-Mead"
        )
        below = found.log_likelihood + beside.fun
        assert below == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, abs=0.01)


def test_the_truth_of_simulated_people_and_items_is_recovered():
    data = make_data(
        seed=11, n_participants=400, n_items=150, trials_each=15, intercept=0.6, sd_participants=0.6,
        sd_items=0.9, confidence_slope=0.4,
    )  # fmt: skip
    y, who, item = arrays(data)
    z = (data.trials["confidence"].to_numpy() - 50.5) / 28.87
    found = fit(y, who, item, z)
    truths = [(c.ci95, t) for c, t in zip(found.coefficients, (0.6, 0.4), strict=True)]
    truths += [(found.participants.ci95, 0.6), (found.items.ci95, 0.9)]
    assert all(low < truth < high for (low, high), truth in truths)
    assert found.converged
    assert found.coefficients[1].se < 0.05
    assert found.items.p < 1e-20


def test_an_effect_that_is_not_there_is_0_with_an_upper_limit():
    data = make_data(seed=1, n_participants=80, n_items=40, sd_participants=0.0, sd_items=0.0)
    found = fit(*arrays(data))
    assert found.converged
    for effect in (found.participants, found.items):
        assert effect.ci95[0] == 0
        assert effect.estimate < effect.ci95[1] < 1
        assert effect.p > 0.05


def test_averaging_over_people_and_items_is_the_integral():
    expected = integrate.quad(
        lambda z: expit(0.7 + 1.3 * z) * stats.norm.pdf(z), -9, 9, epsabs=1e-12
    )
    assert marginal_accuracy(0.7, 1.3) == pytest.approx(expected[0], rel=1e-9)


def test_a_covariate_from_which_the_outcome_follows_has_no_finite_effect():
    data = make_data(seed=3, n_participants=30, n_items=20).trials
    right = data["is_correct"].to_numpy()
    sure = np.where(right, 1.0, -1.0) * np.random.default_rng(1).uniform(0.1, 1, len(right))
    with pytest.raises(NotEnough, match="complete separation"):
        fit(right, data["participant"], data["item"], sure)
    sure[0] *= -1
    assert fit(right, data["participant"], data["item"], sure).coefficients[1].se < 10
