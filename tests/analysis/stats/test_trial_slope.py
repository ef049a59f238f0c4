"""Slopes over trials, against an independent form of the estimator and the levels that simulation finds."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import linalg
from scipy.special import expit

from analysis.stats import NotEnough
from analysis.stats.trial_slope import trial_slope
from analysis.stats.verdicts import Verdict
from tests.analysis.made import make_data


def columns(rows, name="expertise"):
    return (rows[key].to_numpy() for key in (name, "is_correct", "participant", "item"))


def test_the_published_slope_on_expertise_is_the_audits(published):
    found, _ = trial_slope(*columns(published.trials))
    assert (found.n, found.n_participants, found.n_items) == (1011, 171, 200)
    assert found.slope == pytest.approx(0.01004, abs=5e-6)
    # The audit's .0003 is without the corrections for few clusters
    assert 0.0003 < found.p < 0.0006
    assert found.verdict(found.p) is Verdict.ABOVE


def test_the_error_is_that_of_cr2_by_the_residuals_of_each_cluster():
    rows = make_data(seed=3, n_participants=12, n_items=9, sd_items=1.5).trials
    _, right, who, item = columns(rows)
    score = who % 7 + item % 5.0
    fit = sm.Logit(right.astype(float), sm.add_constant(score)).fit(disp=False, tol=1e-12)
    design, fitted = sm.add_constant(score), fit.predict()
    root = np.sqrt(fitted * (1 - fitted))
    inverse = np.linalg.inv(design.T * root**2 @ design)
    hat = (design * root[:, None]) @ inverse @ (design * root[:, None]).T
    scaled = (right - fitted) / root

    def variance(groups):
        adds = []
        for g in np.unique(groups):
            own = np.flatnonzero(groups == g)
            within = np.eye(len(own)) - hat[np.ix_(own, own)]
            adjusted = linalg.fractional_matrix_power(within, -0.5) @ scaled[own]
            adds.append((inverse @ design[own].T @ (root[own] * adjusted.real))[1])
        return float(np.square(adds).sum())

    by_person, by_item, alone = variance(who), variance(item), variance(np.arange(len(who)))
    found, each = trial_slope(score, right, who, item)
    assert found.slope == pytest.approx(fit.params[1], rel=1e-7)
    expected = max(by_person, by_item, by_person + by_item - alone)
    assert found.se == pytest.approx(expected**0.5, rel=1e-6)
    assert each.shape == (12,)
    assert each.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("of", ["test case", "trial", "participant"])
@pytest.mark.parametrize(("n_people", "n_items"), [(60, 10), (20, 10), (30, 20)])
def test_a_small_study_finds_a_slope_that_is_not_there_at_most_once_in_twenty(
    n_people, n_items, of
):
    rng = np.random.default_rng([n_people, n_items])
    who, item = (
        np.repeat(np.arange(n_people), 10),
        np.concatenate([rng.permutation(n_items)[:10] for _ in range(n_people)]),
    )
    n, rejected = 400, 0
    for _ in range(n):
        people, items = rng.normal(size=n_people), rng.normal(size=n_items)
        value = {
            "test case": items[item],
            "participant": people[who],
            "trial": 0.7 * people[who] + 0.5 * items[item] + rng.normal(size=len(who)),
        }[of]
        ease = 0.4 * rng.normal(size=n_people)[who] + 0.8 * rng.normal(size=n_items)[item]
        found, _ = trial_slope(value, rng.random(len(who)) < expit(0.6 + ease), who, item)
        rejected += found.p < 0.05
        assert (found.p < 0.05) == (not found.ci95[0] < 0 < found.ci95[1])
    # 400 draws: standard error 1.1 points; without the corrections 10 to 15% for test cases
    assert 0.01 <= rejected / n <= 0.08


def test_a_slope_that_is_there_is_found_and_one_of_few_clusters_is_no_verdict():
    rng = np.random.default_rng(6)
    who, item = (
        np.repeat(np.arange(60), 8),
        np.concatenate([rng.permutation(40)[:8] for _ in range(60)]),
    )
    date = rng.normal(size=40)
    strong, _ = trial_slope(date[item], rng.random(480) < expit(-1.5 * date[item]), who, item)
    assert strong.verdict(strong.p) is Verdict.BELOW
    few = item % 7
    strong, _ = trial_slope(date[few], rng.random(480) < expit(-1.5 * date[few]), who, few)
    assert strong.verdict(strong.p) is Verdict.TOO_FEW
    with pytest.raises(NotEnough):
        trial_slope(date[item], rng.random(480) < 0.6, who, item % 2)
