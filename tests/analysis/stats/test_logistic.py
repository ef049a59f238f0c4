"""Logistic regression on one score, against the published fits, statsmodels and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from analysis.stats import NotEnough
from analysis.stats.logistic import held_out_probability, logistic
from tests.analysis.made import everybody


def test_full_sample_fits_are_the_published_ones(published, reference):
    for name, score, right in everybody(published):
        found, known = logistic(score, right), reference["logistic_full_sample"][name]
        assert found.slope == pytest.approx(known["mle_coef"], rel=1e-9)
        assert found.intercept == pytest.approx(known["mle_intercept"], rel=1e-9)
        assert found.slope_se == pytest.approx(known["mle_coef_se"], rel=1e-9)
        assert found.p == pytest.approx(known["mle_p"], rel=1e-9)


def test_a_known_slope_is_recovered_whatever_the_unit_of_the_score():
    rng = np.random.default_rng(2)
    score = rng.uniform(0, 100, 20_000)
    right = rng.random(20_000) < 1 / (1 + np.exp(-(-0.5 + 0.03 * score)))
    found = logistic(score, right)
    assert abs(found.slope - 0.03) < 3 * found.slope_se < 0.003
    assert abs(found.intercept + 0.5) < 3 * found.intercept_se
    scaled = logistic(score * 1e6 + 5, right)
    assert scaled.slope * 1e6 == pytest.approx(found.slope, rel=1e-7)
    assert scaled.z == pytest.approx(found.z, rel=1e-7)


@pytest.mark.parametrize(
    ("score", "right"),
    [([1, 2, 3], [1, 1, 1]), ([1, 2, 3, 4], [0, 0, 1, 1]), ([2, 2, 1], [1, 0, 0]), ([], [])],
)
def test_a_fit_that_does_not_exist_is_refused(score, right):
    with pytest.raises(NotEnough):
        logistic(score, right)


def test_a_constant_score_is_not_said_to_have_a_threshold():
    with pytest.raises(NotEnough, match="All confidences are the same"):
        logistic([1.6] * 26, [1, 0] * 13)


@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.9]))
def test_a_fit_settles_at_the_top_of_the_likelihood_even_with_outlying_scores(seed, share):
    rng = np.random.default_rng(seed)
    score, right = rng.standard_cauchy(40), rng.random(40) < share
    try:
        found = logistic(score, right)
    except NotEnough as refusal:
        assert "both correct and wrong" in refusal.reason or "separates" in refusal.reason
        return
    miss = right - 1 / (1 + np.exp(-np.clip(found.intercept + found.slope * score, -500, 500)))
    assert miss.sum() == pytest.approx(0, abs=1e-6)
    assert (miss * score).sum() / np.abs(score).max() == pytest.approx(0, abs=1e-6)


def test_held_out_predictions_are_scikit_learns_left_out_one_by_one():
    rng = np.random.default_rng(4)
    score = rng.normal(size=40)
    right = (rng.random(40) < 1 / (1 + np.exp(-score))).astype(float)
    found, _, _ = held_out_probability(score, right)
    for row in (0, 7, 39):
        others = np.arange(40) != row
        fit = LogisticRegression(C=1e10, tol=1e-10).fit(score[others, None], right[others])
        assert found[row] == pytest.approx(fit.predict_proba(score[[row], None])[0, 1], abs=1e-5)


def test_many_judgements_are_held_out_in_folds_drawn_with_the_seed():
    rng = np.random.default_rng(6)
    score = rng.normal(size=3000)
    right = rng.random(3000) < 1 / (1 + np.exp(-1 - score))
    found, _, rule = held_out_probability(score, right, seed=1)
    assert rule == "20 folds, seed 1"
    assert np.array_equal(found, held_out_probability(score, right, seed=1)[0])
    assert found == pytest.approx(1 / (1 + np.exp(-1 - score)), abs=0.08)
