"""Characters that people cannot see are errors with their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.item_checks.characters import (
    MAX_CHARACTERS,
    MAX_SHOWN,
    check_characters,
    unstorable,
)
from experiment.domain.item_checks.findings import Level


@pytest.mark.parametrize(
    ("char", "code"),
    [
        ("\x00", "control_character"),
        ("\x1b", "control_character"),
        ("\x85", "control_character"),
        ("\u202e", "bidi_control"),
        ("\u2066", "bidi_control"),
        ("\u200b", "zero_width"),
        ("\ufeff", "zero_width"),
        ("\u00ad", "zero_width"),
        ("\U000e0041", "zero_width"),
        ("\ue000", "private_use"),
        ("\ud800", "not_a_character"),
    ],
)
def test_an_unseen_character_is_an_error_with_its_place(char: str, code: str) -> None:
    (found,) = check_characters(f"Rats\n[[slept, r{char}n]].")
    assert (found.code, found.level) == (code, Level.ERROR)
    assert found.place is not None
    assert (found.place.text, found.place.start) == ("markup", 15)
    assert "line 2, column 11" in found.message
    assert char not in found.message + found.quote  # shown by name, never as itself
    assert found.key.encode()


def test_a_text_full_of_them_is_no_page_full_of_findings() -> None:
    found = list(check_characters("a\u200b" * 900))
    assert len(found) == MAX_SHOWN
    assert "900 such" in found[0].message


def test_letters_of_many_scripts_tabs_and_new_lines_are_none() -> None:
    assert not list(check_characters("β-catenin, 5 µm ± 0.3\t≥ 4 °C\r\nnaïve 神经 नमस्ते עברית"))


def test_a_very_long_text_is_an_error_where_it_becomes_too_long() -> None:
    (found,) = check_characters("x\n" * MAX_CHARACTERS)
    assert found.code == "too_many_characters"
    assert "line 10001, column 1" in found.message


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=200))
def test_what_utf8_holds_can_be_kept(text: str) -> None:
    assert unstorable(text) == ""


@pytest.mark.parametrize("text", ["a\x00", "a\ud800", "a" * (MAX_CHARACTERS + 1)])
def test_what_no_database_holds_is_named(text: str) -> None:
    assert "line 1, column" in unstorable(text)
