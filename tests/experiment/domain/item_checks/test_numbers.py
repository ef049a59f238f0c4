"""Numbers that were changed and mean the same."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.experiment.domain.item_checks.abstracts import codes


@pytest.mark.parametrize(
    "text",
    [
        "It took [[1 s | 1000 ms]] there.",
        "It took [[1,000 | 1000]] steps.",
        "It was [[0.50 | 0.5]] there.",
        "They had [[three | 3]] legs.",
        "It was [[50% | 50 percent]] there.",
        "It took [[100 | 104]] days.",
        "They (n = [[12 | 40]]) slept.",
        "They ([[n = 12 | n = 40]]) slept.",
        "It fell (p < [[0.01 | 0.001]]) there.",
        "It fell ([[p = .03 | p = .01]]) there.",
    ],
)
def test_a_change_that_changes_nothing_is_found(text: str) -> None:
    assert "number" in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "It took [[1 s | 1000 s]] there.",
        "It took [[100 | 500]] days.",
        "It fell (p = [[0.01 | 0.2]]) there.",
        "They had [[three | four]] legs.",
        "It took [[100 days | 100 weeks]] there.",
        "It was at [[3 Hz | 3 kHz]] there.",
        "It was in [[layer 5 | layer 2]] there.",
        "They [[slept | ran]] there.",
    ],
)
def test_another_value_is_not(text: str) -> None:
    assert "number" not in codes(text)


@given(st.decimals(min_value=Decimal("0.01"), max_value=10**6, places=2))
def test_a_number_with_its_thousands_marked_is_the_same(value: Decimal) -> None:
    plain, marked = f"{value:f}", f"{value:,f}"
    if plain != marked:
        assert "number" in codes(f"It was [[{plain} | {marked}]] there.")
