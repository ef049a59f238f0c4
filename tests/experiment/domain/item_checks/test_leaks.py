"""Words elsewhere that give the answer away, and words that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.item_checks.wording import check_leaks
from experiment.domain.markup import Alternation, Plain, parse, render
from tests.experiment.domain.item_checks.abstracts import found


def leaks(text: str) -> list[str]:
    return [one.quote for one in found(text) if one.code == "decodable"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The [[VTA, SNc]] fired. Thus cells of the VTA drive waking.", "VTA"),
        (
            "Spindles in sleeping rats were [[increased, decreased]]. The increase of spindles in rats was large.",
            "increase",
        ),
        (
            "Coupling of ripples [[inhibited, excited]] cells. The inhibition of cells by ripples was short.",
            "inhibition",
        ),
    ],
)
def test_the_word_or_its_stem_elsewhere_is_found(text: str, word: str) -> None:
    assert leaks(text) == [word]


@pytest.mark.parametrize(
    "text",
    [
        # Changed everywhere
        "The [[VTA, SNc]] fired. Thus cells of the [[VTA, SNc]] drive waking.",
        # Both stand elsewhere: either version may be the one that fits
        "The VTA and the SNc were recorded. The [[VTA, SNc]] fired.",
        # More of something else
        "Spindles were [[increased, decreased]]. Heart rate increased after lunch.",
        # In both passages
        "They saw [[VTA cells, VTA axons]]. The VTA mattered.",
        # Words that say nothing
        "They slept [[with, without]] food. They ate with spoons.",
    ],
)
def test_words_that_tell_nothing_are_not(text: str) -> None:
    assert leaks(text) == []


def test_the_place_is_where_the_word_stands_elsewhere() -> None:
    abstract = parse("The [[amygdala, insula]] fired. Thus cells of the amygdala fired.")
    (one,) = check_leaks(abstract)
    assert one.place is not None
    assert abstract.original[one.place.start : one.place.end] == one.quote == "amygdala"
    assert one.place.start > abstract.original.index("fired")


SIDE = st.text("abcXY12 -", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(st.lists(st.tuples(st.text("abXY1. ", max_size=20), SIDE, SIDE), min_size=1, max_size=5))
def test_the_quote_is_always_what_stands_at_the_place(parts: list[tuple[str, str, str]]) -> None:
    segments = [
        segment
        for plain, original, altered in parts
        if original != altered
        for segment in (Plain(f"{plain} "), Alternation(original, altered))
    ]
    if not segments:
        return
    abstract = parse(render(segments))
    for one in check_leaks(abstract):
        assert one.place is not None
        assert abstract.original[one.place.start : one.place.end] == one.quote
