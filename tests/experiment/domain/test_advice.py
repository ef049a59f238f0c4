"""The trials that are advised."""

from collections import Counter
from itertools import pairwise

import pytest

from experiment.domain.advice import advised_positions

STRATA = ["human", "catch", "human", "machine", "human", "human", "catch", "machine", "human", "question"]  # fmt: skip


@pytest.mark.parametrize("n", [1, 3, 4, 6])
def test_every_test_trial_is_advised_equally_often_and_no_other(n: int) -> None:
    found = [advised_positions(STRATA, n, seed) for seed in range(7_000)]
    assert {len(some) for some in found} == {n}
    often = Counter(position for some in found for position in some)
    assert sorted(often) == [1, 3, 4, 5, 6, 8, 9]
    # The share of one position has a standard error of at most 0.006
    assert max(abs(k / 7_000 - n / 7) for k in often.values()) < 0.025


def test_advised_trials_are_spread_over_the_session() -> None:
    for seed in range(200):
        advised = sorted(advised_positions(["human"] * 12, 6, seed))
        halves = Counter(position <= 6 for position in advised)
        assert min(halves[True], halves[False]) >= 2
        assert max(b - a for a, b in pairwise(advised)) <= 3


def test_all_are_advised_where_no_number_or_a_large_one_is_asked_for() -> None:
    every = frozenset({1, 3, 4, 5, 6, 8, 9})
    assert advised_positions(STRATA, None, 1) == advised_positions(STRATA, 99, 1) == every
    assert advised_positions(["catch"], None, 1) == frozenset()
