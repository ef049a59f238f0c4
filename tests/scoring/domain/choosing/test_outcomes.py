"""Decisions over both orders: a preference for a side cancels, ties stay ties, and an order alone decides nothing."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.domain.choosing.outcomes import Reply, outcome

odds = st.floats(-20, 20)


@given(odds, odds)
def test_a_preference_for_a_side_does_not_change_the_outcome(knows: float, bias: float) -> None:
    replies = [
        Reply("A", "A", log_odds=bias + knows),
        Reply("B", "A", log_odds=bias - knows),
    ]
    found = outcome(replies)
    assert found is not None
    assert found.log_odds == pytest.approx(knows, abs=1e-9)
    assert found.p_original == pytest.approx(1 / (1 + math.exp(-knows)), abs=1e-9)


def test_a_model_that_always_chooses_one_side_ties_on_every_test_case() -> None:
    found = outcome([Reply(order, "A", 90) for order in "AABB"])
    assert found is not None
    assert (found.p_original, found.points, found.is_tie, found.is_flip) == (0.5, 0.5, True, True)
    assert found.stated == 0.5


def test_a_tie_in_one_order_is_no_flip_of_the_decision_in_the_other() -> None:
    found = outcome([Reply("A", "A"), Reply("A", "B"), Reply("B", "B"), Reply("B", "B")])
    assert found is not None
    assert (found.points, found.is_flip) == (1.0, False)


def test_each_order_counts_as_much_however_many_of_its_answers_can_be_read() -> None:
    found = outcome([Reply("A", "B"), Reply("A", "B"), Reply("A", "B"), Reply("B", "B")])
    assert found is not None
    assert found.p_original is None  # a single answer in an order
    assert found.is_tie


def test_each_order_counts_as_much_with_log_odds_too() -> None:
    found = outcome([Reply("A", "A", log_odds=3.0)] * 3 + [Reply("B", "A", log_odds=1.0)])
    assert found is not None
    assert found.log_odds == 1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_answers_that_all_agree_are_sure_but_not_beyond_measure(n: int) -> None:
    found = outcome([Reply("A", "A")] * n + [Reply("B", "B")] * n)
    assert found is not None
    assert found.points == 1
    assert found.log_odds == pytest.approx(math.log((2 * n + 0.5) / 0.5), abs=1e-12)
    # One answer in each order is no probability, and a few are none of 1
    p = None if n == 1 else pytest.approx((2 * n + 0.5) / (2 * n + 1), abs=1e-12)
    assert found.p_original == p


@pytest.mark.parametrize("order", ["A", "B"])
def test_an_order_alone_decides_nothing(order: str) -> None:
    assert outcome([Reply(order, "A", 90), Reply(order, "A", 90)]) is None
    assert outcome([]) is None


def test_odds_of_some_answers_alone_leave_the_shares() -> None:
    found = outcome([Reply("A", "A", log_odds=9.0), Reply("B", "A")])
    assert found is not None
    assert found.is_tie


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("AB")), min_size=1, max_size=20))
def test_the_versions_exchanged_exchange_the_probability(answers: list[tuple[str, str]]) -> None:
    turned = {"A": "B", "B": "A"}
    found = outcome([Reply(original, side) for original, side in answers])
    other = outcome([Reply(turned[original], side) for original, side in answers])
    if found is None or other is None:
        assert found is other is None
    else:
        assert found.log_odds == pytest.approx(-other.log_odds, abs=1e-12)
        assert found.points == 1 - other.points
