"""Correlations with publication dates."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.publication_date import date_correlation


def test_dates_and_difficulties_that_are_unknown_are_left_out():
    days = np.array(
        ["2023-01-09", "NaT", "2023-01-10", "2023-02-01", "2023-02-01"], "datetime64[D]"
    )
    found = date_correlation(days, [1.0, 99.0, np.nan, 2.0, 3.0])
    assert (found.n, found.n_unique_dates) == (3, 2)
    assert found.rho == pytest.approx(stats.spearmanr([1, 2, 2], [1, 2, 3]).statistic)


def test_a_drift_with_time_is_recovered():
    rng = np.random.default_rng(4)
    days = np.datetime64("2020-01-01") + rng.integers(0, 3000, 2000)
    trend = (days - days.min()).astype(float) / 3000
    found = date_correlation(days, trend + rng.normal(0, 0.5, 2000))
    # A uniform trend of sd .289 in noise of sd .5 correlates with the sum by .289 / sqrt(.289^2 + .5^2) = .5
    assert found.rho == pytest.approx(0.5, abs=0.05)
    assert found.p < 1e-9
