"""Alternations that go together, and that do not."""

import pytest

from experiment.domain.item_checks.content import MOST_ALTERNATIONS, check_contradictions
from experiment.domain.markup import parse
from tests.experiment.domain.item_checks.abstracts import codes


@pytest.mark.parametrize(
    "text",
    [
        "Cells of the [[VTA, SNc]] fired. Thus the [[VTA, PFC]] matters.",
        # The conclusion was changed to agree with what it now contradicts
        "Spindle density in old rats [[rose, fell]]. Thus spindle density in old rats is [[higher, even higher]].",
    ],
)
def test_what_contradicts_itself_is_found(text: str) -> None:
    assert "contradiction" in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "Cells of the [[VTA, SNc]] fired. Thus the [[VTA, SNc]] matters.",
        # Exchanged, as is usual
        "Cells of the [[VTA, SNc]] fired, those of the [[SNc, VTA]] did not.",
        "Spindle density in old rats [[increased, decreased]]. Thus spindle density in old rats is [[higher, lower]].",
        # Not about the same
        "Spindle density [[increased, decreased]]. Heart rate at noon was [[higher, even higher]].",
        # No name: one word may be altered differently in two places
        "They [[slept, ran]] at night and [[slept, ate]] at noon.",
    ],
)
def test_what_agrees_is_not(text: str) -> None:
    assert "contradiction" not in codes(text)


@pytest.mark.parametrize(("between", "is_found"), [(0, True), (MOST_ALTERNATIONS, False)])
def test_of_very_many_alternations_the_first_are_held_against_each_other(
    between: int, is_found: bool
) -> None:
    rest = "Rats [[slept, ran]] there. " * between
    text = f"Cells of the [[VTA, PFC]] fired. {rest}So the [[VTA, NAc]] matters."
    assert bool(list(check_contradictions(parse(text)))) is is_found
