"""The expected calibration error and its interval, from their definitions."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.calibration import bin_columns, calibration_error


def test_the_calibration_error_is_the_hand_made_one():
    # bins [.5, .6) and [.9, 1]: |1/2 - .55| and |1/2 - .95|, two judgements each
    found = calibration_error([0.55, 0.55, 0.95, 0.95], [1, 0, 1, 0], low=0.5, n_bins=5)
    assert found.value == pytest.approx((0.05 + 0.45) / 2)
    assert "2 of them filled" in found.rule


def test_calibrated_probabilities_err_as_much_as_chance_makes_them_err():
    rng = np.random.default_rng(8)
    probability = rng.uniform(0.5, 1, 2000)
    right = rng.random(2000) < probability
    calibrated = calibration_error(probability, right, low=0.5, n_bins=10)
    assert calibrated.value < calibrated.when_calibrated_q95
    over = calibration_error(probability, rng.random(2000) < probability - 0.1, low=0.5, n_bins=10)
    assert over.value == pytest.approx(0.1, abs=0.03)
    assert over.value > 2 * over.when_calibrated_q95


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
    assert calibrated.value <= calibrated.when_calibrated_q95
    assert calibrated.ci95[0] == 0
    many = rng.uniform(0.2, 1, 20_000)
    off = calibration_error(many, rng.random(20_000) < many - 0.1, units="items")
    assert off.ci95[0] < 0.1 < off.ci95[1] < off.ci95[0] + 0.03


def test_fewer_than_three_clusters_give_no_interval():
    assert calibration_error([0.5, 0.6, 0.7], [0, 1, 1], [4, 4, 5]).ci95 is None
    three = [4, 5, 6]
    assert calibration_error([0.5, 0.6, 0.7], [0, 1, 1], three).ci95 is not None
    assert calibration_error([0.5, 0.6, 0.7], [0, 1, 1], three, [1, 1, 2]).ci95 is None
