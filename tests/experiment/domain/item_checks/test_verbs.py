"""Alterations of verbs that ask for no knowledge."""

import pytest

from tests.experiment.domain.item_checks.abstracts import codes


@pytest.mark.parametrize(
    "text",
    [
        "The results [[suggest, indicate]] it. The [[VTA, SNc]] fired.",
        "We [[found, have shown]] that the [[VTA, SNc]] fired.",
    ],
)
def test_another_verb_of_saying_so_is_found(text: str) -> None:
    assert codes(text) == {"trivial_verb"}


def test_a_denial_is_no_other_way_of_saying_so() -> None:
    assert "trivial_verb" not in codes("The results [[suggest, do not suggest]] it.")


@pytest.mark.parametrize(
    "text",
    [
        "Spindles [[increased, decreased]].",
        "Spindles [[can, cannot]] be seen. They [[enhance, impair]] recall.",
    ],
)
def test_a_text_of_swapped_verbs_is_found(text: str) -> None:
    assert "only_verbs" in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "Spindles [[increased, decreased]] in the [[VTA, SNc]].",
        "Spindles were [[higher, lower]].",
        "[[Sleepy, Alert]] rats slept.",
    ],
)
def test_one_alteration_of_something_else_suffices(text: str) -> None:
    assert "only_verbs" not in codes(text)
