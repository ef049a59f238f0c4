"""Intervals of quantiles, against the binomial distribution of ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.distributions import quantile_interval, spread_of


@given(st.integers(1, 400), st.sampled_from([0.5, 0.8]))
def test_the_ranks_of_a_percentiles_interval_are_the_tightest_that_hold_it(n, share):
    found = quantile_interval(range(1, n + 1), share)
    below = stats.binom.cdf(np.arange(-1, n + 1), n, share)  # P(X < rank), rank 0 to n + 1
    low = int(np.flatnonzero(below < 0.025)[-1])
    high = int(np.flatnonzero(1 - below <= 0.025)[0])
    assert found == ((low, high) if low >= 1 and high <= n else None)


def test_one_value_has_no_spread_and_none_no_description():
    one = spread_of([3.0])
    assert (one.median, one.sd, one.ci95) == (3.0, None, None)
    with pytest.raises(NotEnough):
        spread_of([])
