"""The distribution of self-rated expertise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import NotEnough
from analysis.stats.distributions import distribution


@given(st.lists(st.integers(1, 100), min_size=1, max_size=80))
def test_every_rating_is_in_one_class_of_the_histogram(ratings):
    found = distribution(ratings)
    assert sum(one.n for one in found.histogram) == found.n == len(ratings)
    for one in found.histogram:
        assert one.n == sum(one.low <= rating <= one.high for rating in ratings)
    assert found.min <= found.q1 <= found.median <= found.q3 <= found.p80 <= found.max


def test_unrated_trials_are_left_out_and_no_rating_is_said():
    assert distribution([5, np.nan]).n == 1
    with pytest.raises(NotEnough, match="No trial has a rating"):
        distribution([np.nan])
