"""The label of the bar: the name of the page; a trial is named by its number."""

import pytest

from experiment.participant.rendering import Progress


@pytest.mark.parametrize(
    ("stage", "n_questions", "label"),
    [
        ("demographics", 0, "About you"),
        ("asked_before", 0, "A few questions"),
        ("practice", 0, "Practice"),
        ("start", 0, "Practice done"),
        ("start", 3, "The study starts now"),
        ("trial", 0, "Abstract 2 of 3"),
        ("trial", 3, "Question 2 of 3"),
        ("trial", 1, "Task 2 of 3"),
        ("asked_after", 0, "A few questions"),
        ("debrief", 0, "Your results"),
        ("finished", 0, "Done"),
    ],
)
def test_the_bar_names_the_page(stage: str, n_questions: int, label: str) -> None:
    assert Progress(stage, 1, 9, 2, 3, n_questions).label == label
