"""The sentences about a dry run."""

import pytest

from experiment.domain.forecast import ArmContrast, Simulated
from experiment.lab import dry_run_words as words
from experiment.models import DryRun

FOUND = Simulated(9, 6, 4, (20.0, 30.0, 45.0), {"missed_catch": 2}, {"human": (0, 3)}, 54)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("cancelled", "The dry run was stopped, and its simulated participants were deleted."),
        ("failed", "The dry run failed, and its simulated participants were deleted."),
        ("running", ""),
        ("finished", ""),
    ],
)
def test_an_end_without_results_is_said(status: str, said: str) -> None:
    assert words.ended(DryRun(status=status)) == said


def test_the_request_is_worded_in_the_singular_and_the_plural() -> None:
    one = words.asked_for(DryRun(finishers=1), is_advised=False)
    assert one.startswith("1 participant who finishes; 20% of those who start leave early.")
    many = words.asked_for(DryRun(finishers=2), is_advised=True)
    assert many.startswith("2 participants who finish;")
    assert "follow advice in 40% of their advised trials" in many


def test_exclusions_and_unseen_test_cases_are_listed() -> None:
    assert words.excluded(FOUND) == "Excluded at the end: 2 missed a catch trial."
    assert words.balance(FOUND) == "Test cases without a valid judgment: 1 Human-created."
    seen = Simulated(9, 6, 6, (20.0, 30.0, 45.0), {}, {"human": (1, 3)}, 54)
    assert words.excluded(seen) == ""
    assert words.balance(seen) == "Every test case has a valid judgment."


@pytest.mark.parametrize(
    ("detectable", "power", "said"),
    [
        ((0.05, 0.081), (0.4, 0.62), ("5.0 to 8.1", "+3.0", "40% to 62%")),
        (None, None, ("too few to say", "+3.0", "too few to say")),
    ],
)
def test_an_arm_says_what_can_be_found(
    detectable: tuple[float, float] | None,
    power: tuple[float, float] | None,
    said: tuple[str, str, str],
) -> None:
    row = words.ContrastRow(ArmContrast("human", "alone", "advised", 20, 0.03, detectable, power))
    assert (row.detectable, row.difference, row.power) == said
    assert row.source == "Human-created"
