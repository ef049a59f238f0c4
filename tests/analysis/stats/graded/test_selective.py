"""Answering only where one is sure: the curve, its area, and what confidence is worth."""

import numpy as np
import pytest

from analysis.stats import NotEnough
from analysis.stats.graded.selective import selective


def test_the_area_is_the_mean_over_every_number_of_answers_but_for_the_steps():
    """Without ties the curve between two answers is nearly straight: the plain mean of shares is near."""
    rng = np.random.default_rng(1)
    good = rng.random(4000) < 0.4
    sure = good + rng.normal(size=4000)
    shares = np.cumsum(good[np.argsort(-sure)]) / np.arange(1, 4001)
    found = selective(sure, good, np.arange(4000))
    assert found.area == pytest.approx(shares.mean(), abs=0.002)
    assert found.points[-1].good == good.mean()
    assert [point.n for point in found.points] == list(range(1, 4001))


def test_equally_sure_answers_come_together_whatever_their_order():
    one = selective([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0], np.arange(4))
    other = selective([0.5, 0.9, 0.1, 0.5], [0, 1, 0, 1], np.arange(4))
    assert one.points == other.points
    assert len(one.points) == 3
    assert one.area == other.area


def test_a_confidence_that_says_nothing_gains_nothing_and_a_perfect_one_all():
    good = np.tile([1.0, 0.0, 0.0], 100)
    nothing = selective(np.full(300, 0.5), good, np.arange(300))
    assert nothing.gain == pytest.approx(0)
    assert nothing.area == pytest.approx(1 / 3)
    perfect = selective(good, good, np.arange(300))
    assert perfect.area == pytest.approx(perfect.area_best)
    # 1 on the first third, then S / N: (1 + ln 3) / 3
    assert perfect.area == pytest.approx((1 + np.log(3)) / 3)
    wrong = selective(-good, good, np.arange(300))
    assert wrong.gain_ci95[1] < 0


def test_the_gains_interval_holds_the_gain_of_many_answers():
    def drawn(rng, n):
        good = rng.random(n) < 0.4
        return good + rng.normal(size=n), good

    true = selective(*drawn(np.random.default_rng(2), 200_000), np.zeros(200_000, dtype=int)).gain
    held = []
    for seed in range(30):
        low, high = selective(*drawn(np.random.default_rng(seed), 200), np.arange(200)).gain_ci95
        held.append(low <= true <= high)
    assert np.mean(held) >= 0.8  # of 30, below once in 1,000 such tests, were it .95


def test_answers_of_few_templates_have_a_curve_without_an_interval():
    found = selective([0.1, 0.9, np.nan], [1, 0, 1], np.array([0, 1, 2]))
    assert (found.n, found.area_ci95, found.gain_ci95) == (2, None, None)
    with pytest.raises(NotEnough):
        selective([np.nan], [1], np.array([0]))
