"""Bins and lines along confidence: the published ones, and statsmodels; the calibration error, from its definition."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.calibration import bin_columns, binned, calibration_error, line
from tests.analysis.made import everybody


def test_bins_and_lines_are_the_published_ones(published, reference):
    expected = {**reference["calibration"]["llm"], "human": reference["calibration"]["human"]}
    for name, score, right in everybody(published):
        found, known = binned(score, right), expected[name]
        assert [b.n for b in found.bins] == known["bin_counts"]
        assert [b.accuracy for b in found.bins] == pytest.approx(known["bin_accuracy"], rel=1e-12)
        assert [b.midpoint for b in found.bins] == pytest.approx(known["bin_midpoints"], rel=1e-12)
        fit = known["regression_on_rank_midpoint"]
        values = (found.line.slope, found.line.intercept, found.line.r, found.line.p)
        keys = ("slope", "intercept", "r", "p")
        assert values == pytest.approx([fit[key] for key in keys], rel=1e-9)
        assert found.line.slope_se == pytest.approx(fit["stderr"], rel=1e-9)
        assert found.line.intercept_se == pytest.approx(fit["intercept_stderr"], rel=1e-9)


def test_the_line_and_its_interval_are_ordinary_least_squares():
    x, y = np.arange(6.0), np.array([0.4, 0.6, 0.5, 0.7, 0.6, 0.9])
    found, fit = line(x, y), sm.OLS(y, sm.add_constant(x)).fit()
    assert (found.intercept, found.slope) == pytest.approx(tuple(fit.params))
    assert found.slope_ci95 == pytest.approx(tuple(fit.conf_int()[1]))
    assert found.p == pytest.approx(fit.pvalues[1])


@given(st.integers(3, 25), st.integers(0, 200), st.integers(0, 1000))
def test_bins_lie_between_equally_spaced_edges_and_ignore_order_and_scale(bins, more, seed):
    rng, n = np.random.default_rng(seed), bins + more
    score, right = rng.permutation(n).astype(float), rng.random(n) < 0.6
    found = binned(score, right, bins)
    edges = [k * n / bins for k in range(bins + 1)]
    assert [b.n for b in found.bins] == np.histogram(np.arange(n) + 1e-6, edges)[0].tolist()
    assert sum(b.n_correct for b in found.bins) == right.sum()
    order = rng.permutation(n)
    again = binned(np.exp(score / n)[order], right[order], bins)
    assert again.line == found.line


def test_all_correct_gives_a_level_line_without_a_correlation():
    found = binned(np.arange(40), np.ones(40)).line
    assert (found.slope, found.intercept) == (0.0, 1.0)
    assert np.isnan([found.r, found.p]).all()


def test_the_calibration_error_is_the_hand_made_one():
    # bins [.5, .6) and [.9, 1]: |1/2 - .55| and |1/2 - .95|, two judgements each
    found = calibration_error([0.55, 0.55, 0.95, 0.95], [1, 0, 1, 0], low=0.5, n_bins=5)
    assert found.value == pytest.approx((0.05 + 0.45) / 2)
    assert found.rule == "5 bins of equal width on [0.5, 1]; those without judgments have no weight"


def test_calibrated_probabilities_err_as_much_as_chance_makes_them_err():
    rng = np.random.default_rng(8)
    probability = rng.uniform(0.5, 1, 2000)
    right = rng.random(2000) < probability
    calibrated = calibration_error(probability, right, low=0.5, n_bins=10)
    assert calibrated.value < calibrated.when_calibrated_q975
    over = calibration_error(probability, rng.random(2000) < probability - 0.1, low=0.5, n_bins=10)
    assert over.value == pytest.approx(0.1, abs=0.03)
    assert over.value > 2 * over.when_calibrated_q975


def test_the_interval_holds_the_multiples_of_the_pattern_whose_errors_hold_the_value():
    """Tried one by one, with the covariance of statsmodels' clustered regression on the bins."""
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(30), 4)
    probability = rng.uniform(0.5, 1, 120)
    right = (rng.random(120) < probability - 0.3).astype(float)
    found = calibration_error(probability, right, unit * 7, units="participants", low=0.5, n_bins=5)
    place = np.clip(np.floor((probability - 0.5) * 10), 0, 4).astype(int)
    columns = bin_columns(place, right - probability, 5)
    off = columns.mean(axis=0)
    sums = np.array([(columns - off)[unit == one].sum(axis=0) for one in range(30)]) / 120
    spread = sums.T @ sums * 30 / 29 * (stats.t.ppf(0.975, 29) / stats.norm.ppf(0.975)) ** 2
    noise = rng.multivariate_normal(np.zeros(5), spread, 20_000)
    share_below = [
        np.mean(np.abs(end / found.value * off + noise).sum(axis=1) <= found.value)
        for end in found.ci95
    ]
    assert share_below == pytest.approx([0.975, 0.025], abs=0.012)
    assert "clusters of participants" in found.ci_method


def test_an_error_that_chance_explains_has_an_interval_from_0_and_many_judgements_a_narrow_one():
    rng = np.random.default_rng(5)
    probability = rng.uniform(0, 1, 300)
    calibrated = calibration_error(probability, rng.random(300) < probability)
    assert calibrated.value <= calibrated.when_calibrated_q975
    assert calibrated.ci95[0] == 0
    many = rng.uniform(0.2, 1, 20_000)
    off = calibration_error(many, rng.random(20_000) < many - 0.1, units="items")
    assert off.ci95[0] < 0.1 < off.ci95[1] < off.ci95[0] + 0.03


def test_the_interval_starts_at_0_just_where_the_error_is_within_what_chance_gives():
    """Also where people differ, which makes chance larger than that of single trials."""
    starts = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        who = np.repeat(np.arange(20), 6)
        probability = rng.uniform(0.5, 1, 120)
        right = rng.random(120) < probability - 0.2 + rng.normal(0, 0.2, 20)[who]
        found = calibration_error(probability, right, who, low=0.5, n_bins=10)
        starts.append(found.ci95[0] == 0)
        assert starts[-1] == (found.value <= found.when_calibrated_q975)
        assert found.when_calibrated < found.when_calibrated_q975
    assert 0 < sum(starts) < 60


def test_an_error_smaller_than_chance_makes_it_is_no_surer_than_chance():
    """Half of 30 decisions are right, and each is stated as 50%: an error of 0 says no more than so many tosses."""
    for stated in (0.5, 0.50004):
        found = calibration_error([stated] * 30, [1, 0] * 15, low=0.5, n_bins=10)
        assert found.value == pytest.approx(0, abs=1e-4)
        assert found.ci95 == (0.0, pytest.approx(found.value + found.when_calibrated_q975))


def test_fewer_than_three_clusters_give_no_interval():
    two = calibration_error([0.5, 0.6, 0.7], [0, 1, 1], [4, 4, 5])
    assert (two.ci95, two.when_calibrated, two.when_calibrated_q975) == (None, None, None)
    three = [4, 5, 6]
    assert calibration_error([0.5, 0.6, 0.7], [0, 1, 1], three).ci95 is not None
    assert calibration_error([0.5, 0.6, 0.7], [0, 1, 1], three, [1, 1, 2]).ci95 is None
