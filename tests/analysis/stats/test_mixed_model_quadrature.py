"""The mixed model's likelihood by quadrature, against integrals computed in ways that share nothing with it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, special
from scipy.special import expit, log_expit
from threadpoolctl import threadpool_limits

from analysis.stats.mixed_model.laplace import LaplaceLikelihood
from analysis.stats.mixed_model.model import Integral, fit
from analysis.stats.mixed_model.quadrature import QuadratureLikelihood
from tests.analysis.made import make_data


@pytest.fixture(autouse=True)
def one_thread():
    """As the report does: for matrices this small a second thread only waits."""
    with threadpool_limits(1):
        yield


def simulated(seed, n_people, n_items, each, sd_people, sd_items, intercept=0.6):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_people), each)
    item = np.concatenate([rng.permutation(n_items)[:each] for _ in range(n_people)])
    ease = sd_people * rng.normal(size=n_people)[who] + sd_items * rng.normal(size=n_items)[item]
    return (
        rng.random(len(who)) < expit(intercept + ease),
        who,
        np.unique(item, return_inverse=True)[1],
    )


def both(y, who, item):
    """The likelihood by quadrature and by Laplace's approximation."""
    ones = np.ones((len(y), 1))
    return QuadratureLikelihood(y, ones, who, item), LaplaceLikelihood(y, ones, who, item)


def one_factor(right, n, intercept, sd):
    """Exact: the integral of each level's binomial likelihood, by adaptive integration."""

    def log_integral(k, m):
        def log_chance(u):
            eta = intercept + sd * u
            return k * log_expit(eta) + (m - k) * log_expit(-eta) - u**2 / 2

        top = -optimize.minimize_scalar(lambda u: -log_chance(u), (-1, 1)).fun
        area = integrate.quad(lambda u: np.exp(log_chance(u) - top), -9, 9, epsabs=0, epsrel=1e-10)
        return top + np.log(area[0]) - np.log(2 * np.pi) / 2

    levels, times = np.unique(np.column_stack([right, n]), axis=0, return_counts=True)
    return sum(t * log_integral(k, m) for (k, m), t in zip(levels, times, strict=True))


def crossed(y, who, item, intercept, sd_people, sd_items, nodes=16):
    """Exact for few people: a grid over all their effects at once, each item's effect summed for every point of it."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    x, v = np.polynomial.hermite_e.hermegauss(40)
    log_w, log_v = np.log(w / w.sum()), np.log(v / v.sum())
    n_people, sign = who.max() + 1, np.where(y, 1.0, -1.0)
    total = []
    for place in product(range(nodes), repeat=n_people):
        people = z[list(place)]
        eta = intercept + sd_people * people[who, None] + sd_items * x
        by_item = np.zeros((item.max() + 1, len(x)))
        np.add.at(by_item, item, log_expit(sign[:, None] * eta))
        total.append(
            special.logsumexp(by_item + log_v, axis=1).sum() + log_w[list(place)].sum()
        )  # fmt: skip
    return float(special.logsumexp(total))


@pytest.mark.parametrize("shape", [(40, 25, 5), (12, 30, 9)])
@pytest.mark.parametrize("sd", [0.3, 1.0, 2.5])
def test_with_one_factor_absent_it_is_the_integral_over_the_other(shape, sd):
    y, who, item = simulated(3, *shape, 0.7, 0.9)
    quadrature, _ = both(y, who, item)
    for levels, sds in ((item, (0.0, sd)), (who, (sd, 0.0))):
        exact = one_factor(np.bincount(levels, y), np.bincount(levels), 0.4, sd)
        # Nine nodes: 1e-5 at sds as they occur
        assert quadrature(np.array([0.4, *sds])) == pytest.approx(
            exact, abs=2e-4 if sd < 2 else 2e-2
        )


@pytest.mark.parametrize(("sds", "within"), [((0.4, 0.7), 0.002), ((1.0, 1.0), 0.02), ((1.5, 0.6), 0.05)])  # fmt: skip
def test_with_both_factors_it_is_near_the_integral_over_all_effects(sds, within):
    rng = np.random.default_rng(8)
    who, item = np.repeat(np.arange(3), 10), np.concatenate([rng.permutation(12)[:10] for _ in range(3)])  # fmt: skip
    y = rng.random(30) < 0.65
    quadrature, laplace = both(y, who, item)
    theta = np.array([0.5, *sds])
    exact = crossed(y, who, item, *theta)
    assert quadrature(theta) == pytest.approx(exact, abs=within)
    assert abs(laplace(theta) - exact) > 4 * abs(quadrature(theta) - exact)


def published_trials(shared_dir, source):
    rows = pd.read_csv(shared_dir / "brainbench_results/human_results/data/participant_data.csv")
    rows = rows[rows["journal_section"].str.startswith(source)]
    return (
        rows["correct"].to_numpy(dtype=bool),
        pd.factorize(rows["pid"])[0],
        pd.factorize(rows["abstract_id"])[0],
    )


@pytest.mark.shared
@pytest.mark.parametrize(
    ("source", "sd_items", "log_likelihood"),
    [("human", 0.71892, -654.9143), ("machine", 0.84718, -301.6357)],
)
def test_published_items_vary_as_an_independent_integration_says(
    shared_dir, source, sd_items, log_likelihood
):
    y, who, item = published_trials(shared_dir, source)
    found = fit(y, who, item, profiles=False)
    alone = found.participants.without
    assert found.integral is Integral.QUADRATURE
    assert alone.sd_other == pytest.approx(sd_items, abs=2e-4)
    assert alone.log_likelihood == pytest.approx(log_likelihood, abs=2e-4)
    exact = one_factor(np.bincount(item, y), np.bincount(item), alone.intercept, alone.sd_other)
    assert alone.log_likelihood == pytest.approx(exact, abs=1e-4)


@pytest.mark.shared
@pytest.mark.parametrize(("source", "rises"), [("human", True), ("machine", False)])
def test_participants_vary_exactly_if_the_exact_slope_at_0_is_positive(shared_dir, source, rises):
    """Without participants the items' effects are independent given the answers, so that the derivative of the exact
    log-likelihood by the participants' variance needs integrals over one effect only. Laplace has 0 for both sources."""
    y, who, item = published_trials(shared_dir, source)
    found = fit(y, who, item, profiles=False)
    alone = found.participants.without
    x, w = np.polynomial.hermite_e.hermegauss(60)
    p = expit(alone.intercept + alone.sd_other * x)
    right, n = np.bincount(item, y)[:, None], np.bincount(item)[:, None]
    share = special.softmax(np.log(w) + right * np.log(p) + (n - right) * np.log1p(-p), axis=1)
    chance = share @ p
    variance, weight = share @ p**2 - chance**2, share @ (p * (1 - p))
    residual = np.bincount(who, y - chance[item])
    slope = (residual**2 + np.bincount(who, (variance - weight)[item])).sum() / 2
    assert (slope > 0) == rises == (found.participants.estimate > 0)


def test_data_that_no_quadrature_describes_are_fitted_by_laplace():
    """Where nearly every item is always right or always wrong, their standard deviation has no bounds."""
    assert fit(*simulated(2, 6, 8, 3, 0.5, 10.0)).integral is Integral.LAPLACE


def importance(y, who, item, theta, draws, seed=0):
    """(log L, its Monte Carlo error): people's effects drawn from their Laplace density, items' integrated by 40 nodes."""
    intercept, sd_people, sd_items = theta
    laplace = both(y, who, item)[1]
    laplace(theta)
    modes = laplace.modes()
    u, v = modes[::-1] if laplace.swapped else modes
    n_people, n_items = len(u), len(v)
    p = expit(intercept + sd_people * u[who] + sd_items * v[item])
    z = np.zeros((len(y), n_people + n_items))
    z[np.arange(len(y)), who], z[np.arange(len(y)), n_people + item] = sd_people, sd_items
    inverse = np.linalg.inv(z.T @ (z * (p * (1 - p))[:, None]) + np.eye(z.shape[1]))
    root = np.linalg.cholesky(inverse[:n_people, :n_people])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    log_weights, sign = np.log(weights / weights.sum()), np.where(y, 1.0, -1.0)
    order = np.argsort(item, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(item))[:-1]])
    rng, logs = np.random.default_rng(seed), []
    for _ in range(draws):
        e = rng.standard_normal(n_people)
        for sided in (e, -e):
            people = u + root @ sided
            eta = intercept + (sd_people * people[who])[:, None] + sd_items * nodes
            by_item = np.add.reduceat(log_expit(sign[:, None] * eta)[order], starts, axis=0)
            each = special.logsumexp(by_item + log_weights, axis=1).sum()
            logs.append(each - people @ people / 2 + sided @ sided / 2)
    weight = np.exp(np.array(logs) - max(logs))
    error = weight.std() / weight.mean() / np.sqrt(len(weight))
    value = max(logs) + np.log(weight.mean()) + np.log(np.diag(root)).sum()
    return value, error


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("design", "within"),
    [
        ((171, 200, 6, 0.3, 0.7), 0.03),
        ((171, 200, 6, 0.5, 0.9), 0.08),
        ((171, 200, 6, 0.9, 0.9), 0.3),
        ((60, 40, 10, 0.6, 0.9), 0.08),
        ((30, 100, 30, 0.6, 0.9), 0.03),
    ],
)
def test_the_error_with_both_factors_is_a_small_part_of_laplaces(design, within, capsys):
    """Log-likelihoods at the true parameters, against importance sampling."""
    y, who, item = simulated(1, *design)
    theta = np.array([0.6, *design[3:]])
    quadrature, laplace = (one(theta) for one in both(y, who, item))
    exact, error = importance(y, who, item, theta, draws=2000)
    with capsys.disabled():
        print(f"\n{design}: Laplace {laplace - exact:+.3f}, quadrature {quadrature - exact:+.3f} (MC {error:.3f})")  # fmt: skip
    assert quadrature == pytest.approx(exact, abs=within + 3 * error)
    assert abs(quadrature - exact) < 0.15 * abs(laplace - exact) + 3 * error


@pytest.mark.sweep
@pytest.mark.parametrize("sds", [(0.3, 0.7), (0.6, 0.9)])
def test_standard_deviations_are_recovered_where_laplace_pulls_them_to_0(sds, capsys):
    found = np.array(
        [
            [m.participants.estimate**2, m.items.estimate**2]
            for seed in range(40)
            for m in [fit(*simulated(seed, 171, 200, 6, *sds), profiles=False)]
        ]
    )
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    with capsys.disabled():
        print(f"\nsds {sds}: roots of the mean variances {np.sqrt(mean).round(3)}, errors of the variances {error.round(3)}")  # fmt: skip
    assert (np.abs(mean - np.square(sds)) < 3.5 * error).all()


def test_made_people_and_items_are_fitted_by_quadrature_up_to_a_number_of_trials():
    trials = make_data(seed=2, n_participants=30).trials
    columns = [trials[name] for name in ("is_correct", "participant", "item")]
    assert fit(*columns, profiles=False).integral is Integral.QUADRATURE
    fitted = fit(*columns, profiles=False, most_for_quadrature=len(trials) - 1)
    assert fitted.integral is Integral.LAPLACE
