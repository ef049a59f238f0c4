"""The distribution of self-rated expertise."""

from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.distributions import distribution


@given(st.lists(st.integers(1, 100), min_size=1, max_size=80))
def test_every_rating_is_in_one_class_of_the_histogram(ratings):
    found = distribution(ratings)
    assert sum(one.n for one in found.histogram) == found.n == len(ratings)
    for one in found.histogram:
        assert one.n == sum(one.low <= rating <= one.high for rating in ratings)
    assert found.min <= found.q1 <= found.median <= found.q3 <= found.p80 <= found.max
