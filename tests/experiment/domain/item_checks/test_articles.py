"""a and an agree with what follows, whichever passage stands there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.item_checks.wording import article_of
from tests.experiment.domain.item_checks.abstracts import codes, found


@pytest.mark.parametrize(
    "text",
    [
        "There was a [[rise, increase]] in it.",
        "There was [[an increase, an decrease]] in it.",
        "There was [[a, an]] increase in it.",
        "It was [[an excitatory, a inhibitory]] cell.",
    ],
)
def test_an_article_that_does_not_fit_is_found(text: str) -> None:
    assert "article" in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        "There was [[an increase, a decrease]] in it.",
        "There was a [[uniform, European]] shape in it.",
        "It took an [[hour, 8-week course]] or so.",
        "We used an [[MRI, fMRI]] scan.",
        "We saw a apple, which [[slept, ran]] away.",  # not near: typed so by the authors
        "Group A [[increased, decreased]] at 3 a.m. in it.",
    ],
)
def test_one_that_fits_or_is_not_near_is_not(text: str) -> None:
    assert "article" not in codes(text)


def test_the_place_is_that_of_the_version() -> None:
    (one,) = [f for f in found("It was a [[rise, increase]] here.") if f.code == "article"]
    assert one.place is not None
    assert (one.place.text, one.quote) == ("altered", "a increase")


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("unimodal", "a"),
        ("unimpaired", "an"),
        ("uninformed", "an"),
        ("unidentified", "an"),
        ("unidirectional", "a"),
        ("one-way", "a"),
        ("honest", "an"),
        ("hippocampal", "a"),
        ("18-month", "an"),
        ("180-day", "a"),
        ("11", "an"),
        ("110", "a"),
        ("8", "an"),
        ("EEG", "an"),
        ("PET", "a"),
        ("SNARE", ""),
        ("mRNA", ""),
        ("X-ray", ""),
        ("\N{GREEK SMALL LETTER ALPHA}-wave", ""),
    ],
)
def test_sounds_decide_and_doubt_says_nothing(word: str, article: str) -> None:
    assert article_of(word) == article


@given(st.from_regex(r"[^\W_][\w.-]{0,12}", fullmatch=True))
def test_every_word_has_an_answer(word: str) -> None:
    assert article_of(word) in {"a", "an", ""}
