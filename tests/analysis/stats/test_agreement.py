"""Rank correlations of difficulties against SciPy; the noise ceiling against a known reliability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.agreement import (
    noise_ceiling,
    rank_correlations,
)

SMALL_MATRICES = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).integers(0, 6, (4, 9)).astype(float)
)


@given(SMALL_MATRICES)
def test_correlations_are_scipys_whether_or_not_a_value_is_missing(values):
    whole = rank_correlations(values)
    values[0, 0] = np.nan
    some = rank_correlations(values)
    for matrix, i, first in ((whole, 1, 0), (some, 0, 1)):
        x, y = values[i, first:], values[3, first:]
        if np.ptp(x) and np.ptp(y):
            assert matrix[i, 3] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    np.testing.assert_allclose(some[1:, 1:], whole[1:, 1:], atol=1e-12)


def test_split_halves_recover_a_known_reliability():
    """With accuracies of variance v and n trials each, reliability is v / (v + mean p(1-p)/n)."""
    rng = np.random.default_rng(5)
    p, n = rng.beta(4, 3, 1500), 10
    correct = rng.binomial(n, p)
    truth = p.var() / (p.var() + (p * (1 - p)).mean() / n)
    found = noise_ceiling(correct, np.full(1500, n), n_splits=50, seed=1)
    assert found.spearman_brown == pytest.approx(truth, abs=0.04)
    assert found.ci95[0] < found.spearman_brown < found.ci95[1]
    assert found.ci95[1] - found.ci95[0] < 0.1


def test_drawn_halves_are_those_of_shuffled_trials():
    """The same mean correlation from trials that are really shuffled and cut in two."""
    rng = np.random.default_rng(2)
    n = rng.integers(2, 12, 60)
    trials = [rng.random(k) < p for k, p in zip(n, rng.random(60), strict=True)]
    slow = []
    for _ in range(400):
        halves = [np.split(rng.permutation(t), [len(t) // 2]) for t in trials]
        one, two = np.array([[half.mean() for half in pair] for pair in halves]).T
        slow.append(stats.spearmanr(one, two).statistic)
    found = noise_ceiling([t.sum() for t in trials], n, seed=8)
    error = np.std(slow) / np.sqrt(400)
    assert found.split_half_mean == pytest.approx(np.mean(slow), abs=5 * error)
