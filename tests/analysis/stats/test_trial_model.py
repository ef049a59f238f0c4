"""Several effects on a decision: against statsmodels, the one-slope estimator and the levels that simulation finds."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize
from scipy.special import expit

from analysis.report.chapters.advised.results import trials_of
from analysis.stats import NotEnough
from analysis.stats.reliance.moderators import switching_model
from analysis.stats.trial_model import separating, trial_model
from analysis.stats.trial_slope import trial_slope
from tests.analysis.coverage.nulls import null_study


def study(rng, n_people, n_items, each=10):
    """(who, item) of people who judge `each` test cases of their own."""
    items = [rng.permutation(n_items)[:each] for _ in range(n_people)]
    return np.repeat(np.arange(n_people), each), np.concatenate(items)


def null(rng, n_people, n_items, varying=0.0):
    """Columns of test cases, of participants and of trials, and decisions on which none has an effect on average.

    varying: SD over participants of the effect of the trial's column.
    """
    who, item = study(rng, n_people, n_items)
    right = (np.arange(n_items) < 0.7 * n_items)[item] - 0.5
    own = 0.7 * rng.normal(size=n_people)[who] + 0.7 * rng.normal(size=len(who))
    columns = {
        "advice_right": right,
        "adviser": rng.normal(size=n_items)[item],
        "expertise": rng.normal(size=n_people)[who],
        "own": own,
        "own x right": own * right,
    }
    ease = 0.4 * rng.normal(size=n_people)[who] + 0.8 * rng.normal(size=n_items)[item]
    ease = ease + varying * rng.normal(size=n_people)[who] * own
    return columns, (rng.random(len(who)) < expit(-0.5 + ease)).astype(float), who, item


def test_coefficients_are_statsmodels_and_one_effect_is_the_slope_over_trials():
    columns, outcome, who, item = null(np.random.default_rng(1), 30, 20)
    found = trial_model(columns, outcome, who, item)
    fit = sm.Logit(outcome, sm.add_constant(np.column_stack([*columns.values()]))).fit(disp=False)
    assert [one.estimate for one in found] == pytest.approx(fit.params.tolist(), rel=1e-6)
    _, alone = trial_model({"own": columns["own"]}, outcome, who, item)
    slope, _ = trial_slope(columns["own"], outcome, who, item)
    assert (alone.slope.estimate, alone.slope.se, alone.slope.df, alone.slope.p) == pytest.approx(
        (slope.slope, slope.se, slope.df, slope.p), rel=1e-6
    )


@pytest.mark.parametrize(("n_people", "n_items", "varying"), [(60, 10, 0.0), (20, 10, 0.0), (30, 20, 0.7)])  # fmt: skip
def test_a_small_study_finds_effects_that_are_not_there_at_most_once_in_twenty(
    n_people, n_items, varying
):
    check_levels(n_people, n_items, varying, 200, (0.0, 0.1))


@pytest.mark.sweep
@pytest.mark.parametrize("varying", [0.0, 0.7])
@pytest.mark.parametrize(("n_people", "n_items"), [(20, 10), (60, 10), (85, 10), (30, 20), (60, 30), (120, 60)])  # fmt: skip
def test_effects_that_are_not_there_are_found_in_at_most_6_5_percent(n_people, n_items, varying):
    check_levels(n_people, n_items, varying, 2000, (0.01, 0.079))  # 6.5% and 2.6 standard errors


def check_levels(n_people, n_items, varying, n_studies, ends):
    rng, found = np.random.default_rng([n_people, n_items, int(10 * varying)]), []
    for _ in range(n_studies):
        effects = trial_model(*null(rng, n_people, n_items, varying))[1:]
        found.append([one.slope.p < 0.05 for one in effects])
    levels = np.mean(found, axis=0)
    print(n_people, n_items, varying, levels)
    assert (ends[0] <= levels).all()
    assert (levels <= ends[1]).all()


def test_an_effect_from_which_the_outcome_follows_is_penalised_and_has_no_p():
    """Advice that is right is always followed; advice that is wrong now and then. Firth's estimates by another way."""
    columns, _, who, item = null(np.random.default_rng(2), 30, 20)
    right, own = columns["advice_right"], columns["own"]
    rng = np.random.default_rng(3)
    follows = np.where(right > 0, 1.0, rng.random(len(who)) < expit(-0.3 - own))
    found = trial_model({"right": right, "own": own}, follows, who, item)
    assert [one.separates for one in found] == [True, True, False]
    assert {one.slope for one in found} == {None}

    x = np.column_stack([np.ones(len(who)), right, own])

    def penalised(beta):
        p = expit(x @ beta)
        size = np.linalg.slogdet((x.T * (p * (1 - p))) @ x)[1]
        return -np.log(np.where(follows > 0, p, 1 - p)).sum() - size / 2

    best = optimize.minimize(penalised, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 5000}).x  # fmt: skip
    assert [one.estimate for one in found] == pytest.approx(best.tolist(), abs=1e-3)
    follows[np.flatnonzero(right > 0)[0]] = 0
    assert all(one.slope for one in trial_model({"right": right, "own": own}, follows, who, item))


def test_a_joint_separation_is_found_and_one_counterexample_undoes_it():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 2)), rng.normal(size=60)])
    outcome = (x[:, 1] + x[:, 2] > 0.3).astype(float)
    assert separating(x, outcome)[:3].all()
    nearest = np.argmax(x[:, 1] + x[:, 2])
    outcome[nearest] = 0
    assert not separating(x, outcome).any()


def test_a_fit_that_breaks_off_far_out_is_that_of_a_separation():
    """Wrong advice is never followed; Newton's last step leaves weights of 0, and no information to invert."""
    own = trials_of(null_study(10818, 60, 10).advised)
    found = switching_model(own).effect("advice_right")
    assert found.separates
    assert found.slope is None


def test_effects_constant_within_ten_test_cases_have_no_more_degrees_of_freedom_than_these_leave():
    rng = np.random.default_rng(6)
    for _study in range(20):
        columns, outcome, who, item = null(rng, 60, 10)
        found = {one.name: one for one in trial_model(columns, outcome, who, item)}
        constant = [name for name, x in columns.items() if is_constant(x, item)]
        assert len(constant) >= 2
        for name in constant:
            assert found[name].slope.df <= 10 - 1 - len(constant)


def is_constant(x, groups):
    return all(np.ptp(x[groups == one]) == 0 for one in np.unique(groups))


def test_effects_that_cannot_be_told_apart_are_refused():
    columns, outcome, who, item = null(np.random.default_rng(5), 12, 10)
    with pytest.raises(NotEnough, match="follow from others"):
        trial_model({"a": columns["own"], "b": 2 * columns["own"] + 1}, outcome, who, item)
    with pytest.raises(NotEnough, match="same outcome"):
        trial_model(columns, np.ones(len(who)), who, item)
    with pytest.raises(NotEnough, match="fewer"):
        trial_model(columns, outcome, who, item % 2)
