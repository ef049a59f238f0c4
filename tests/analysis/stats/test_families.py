"""Families of tests: Holm's correction, and how many tests they come to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.stats.families import effective_number, family, holm


@given(st.integers(2, 20), st.floats(0, 0.999))
def test_the_effective_number_lies_between_1_and_the_number_of_tests(n, rho):
    matrix = np.full((n, n), rho) + (1 - rho) * np.eye(n)
    assert 1 <= effective_number(matrix) <= n + 1e-6


def test_the_effective_number_is_that_of_li_and_ji_by_hand():
    """Eigenvalues 1 + 2 (.5) = 2 and twice .5: (1 + 0) + 2 (0 + .5) = 2."""
    assert effective_number(np.full((3, 3), 0.5) + 0.5 * np.eye(3)) == pytest.approx(2)


def test_correlations_are_those_of_the_estimates():
    """Slopes of repeated samples whose errors share half of their variance."""
    rng = np.random.default_rng(1)
    shared, own = rng.normal(size=(4000, 1)), rng.normal(size=(4000, 6))
    found, _ = family(np.full(6, 0.5), (shared + own) / np.sqrt(2))
    assert found.mean_correlation == pytest.approx(0.5, abs=0.03)
    # Eigenvalues 1 + 5 (.5) = 3.5 and five times .5: 1.5 + 2.5
    assert found.n_effective == pytest.approx(4, abs=0.3)


def test_after_holm_chance_is_called_clear_no_more_often_than_one_time_in_twenty():
    rng = np.random.default_rng(2)
    shared, own = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 15))
    z = np.sqrt(0.8) * shared + np.sqrt(0.2) * own
    p = 2 * stats.norm.sf(np.abs(z))
    any_clear = [family(row, np.eye(15))[0].n_clear > 0 for row in p]
    assert np.mean(any_clear) <= 0.06
    assert np.mean((p < 0.05).any(axis=1)) > 0.1


def test_corrected_p_values_are_those_of_statsmodels():
    p = np.array([0.2, 0.001, 0.04, 0.04, 0.6, 0.012])
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])
