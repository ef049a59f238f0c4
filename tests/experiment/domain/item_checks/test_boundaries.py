"""Passages that begin or end as their sentence does not."""

import pytest

from tests.experiment.domain.item_checks.abstracts import codes


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[[In contrast | we did not find]] evidence.", "sentence_start"),
        ("[[They slept well | they ran]] at night.", "sentence_start"),
        ("They [[slept. | ran]] It was night.", "sentence_end"),
        ("However, [[Cav2 | but not Cav3]], currents rose.", "cut_passage"),
        ("They [[slept, | ran]] at night.", "cut_passage"),
    ],
)
def test_a_broken_sentence_is_found(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "[[Rats, Mice]] slept.",
        "[[p53, p21]] was found.",
        "[[mRNA, DNA]] was found.",
        "They [[slept, ran]]. It was night.",
        "They [[slept at night., ran at noon.]] It was warm.",
        "They slept [[and, but]] ate.",
        "They saw [[Purkinje cells, interneurons]] there.",
    ],
)
def test_a_whole_one_is_not(text: str) -> None:
    assert not codes(text) & {"sentence_start", "sentence_end", "cut_passage"}
