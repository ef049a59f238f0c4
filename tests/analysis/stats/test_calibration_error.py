"""The expected calibration error and its interval, from their definitions."""

import numpy as np
import pytest

from analysis.stats.calibration_error import MOST_UNITS, calibration_error


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


def resampled_errors(probability, right, unit, low, n_bins, seed):
    """As the definition says, resample by resample, judgements written out again and again."""
    rng = np.random.default_rng(seed)
    edges = np.linspace(low, 1, n_bins + 1)
    place = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, n_bins - 1)
    for _ in range(2000):
        drawn = rng.choice(unit.max() + 1, unit.max() + 1)
        rows = np.concatenate([np.flatnonzero(unit == one) for one in drawn])
        gaps = [(right - probability)[rows][place[rows] == b].sum() for b in range(n_bins)]
        yield np.abs(gaps).sum() / len(rows)


def test_the_interval_of_the_calibration_error_is_the_reflected_one_of_resampled_people():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(30), 4)
    probability = rng.uniform(0.5, 1, 120)
    right = (rng.random(120) < probability - 0.3).astype(float)
    found = calibration_error(probability, right, unit * 7, units="participants", low=0.5, n_bins=5)
    errors = list(resampled_errors(probability, right, unit, 0.5, 5, seed=1))
    ends = 2 * found.value - np.quantile(errors, [0.975, 0.025])
    assert found.ci95 == pytest.approx(tuple(ends), abs=0.015)
    assert "1,000 resamples of participants" in found.ci_method


def test_an_error_that_chance_explains_has_an_interval_from_0_and_many_judgements_a_narrow_one():
    rng = np.random.default_rng(5)
    probability = rng.uniform(0, 1, 300)
    calibrated = calibration_error(probability, rng.random(300) < probability)
    assert calibrated.value <= calibrated.when_calibrated_q95
    assert calibrated.ci95[0] == 0
    many = rng.uniform(0.2, 1, 20_000)
    off = calibration_error(many, rng.random(20_000) < many - 0.1, units="items")
    assert off.ci95[0] < 0.1 < off.ci95[1] < off.ci95[0] + 0.03
    assert f"{MOST_UNITS:,} random groups of items" in off.ci_method
    assert calibration_error([0.5, 0.6], [0, 1], [4, 4]).ci95 is None
