"""Odds are taken from a server's likeliest tokens where these can be true, and from nowhere else."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from scoring.domain.choosing.odds import FAULTS, Odds, read_odds, read_tokens
from scoring.domain.generating import Token

ELSE = (("x", math.log(0.9)), ("y", math.log(0.1)))


def said(
    likeliest: Sequence[tuple[str, float]], text: str = "A", own: float | None = None
) -> list[Token]:
    """{"side": "A"}, with these tokens in the place of the side."""
    found = next((p for t, p in likeliest if t == text), -1.0) if own is None else own
    before, after = Token('{"side": "', -0.1, ELSE), Token('"}', -0.2, ELSE[::-1])
    return [before, Token(text, found, tuple(likeliest)), after]


def odds(tokens: list[Token], side: str = "A", *, is_greedy: bool = True) -> Odds:
    return read_odds(tokens, side, is_greedy=is_greedy)


@pytest.mark.parametrize(
    ("likeliest", "expected"),
    [
        ([("A", 0.6), ("B", 0.3)], 0.6 / 0.3),
        ([("A", 0.5), ("a", 0.1), ("B", 0.3)], 0.6 / 0.3),
        ([("A", 0.5), ("B", 0.2), ("A", 0.1)], 0.6 / 0.2),  # several tokens of one text
        ([("A", 0.1), ("B", 0.2), ("A", 0.5)], 0.6 / 0.2),
        ([("A", 0.9), ("The", 0.02)], 0.9 / 0.02),  # B is no likelier than the last that is listed
    ],
)
def test_tokens_of_one_letter_are_added_up(
    likeliest: list[tuple[str, float]], expected: float
) -> None:
    found = odds(said([(text, math.log(p)) for text, p in likeliest]))
    assert found.fault == ""
    assert found.log_odds == pytest.approx(math.log(expected), abs=1e-12)


def test_they_are_those_of_the_last_place_that_names_a_side_within_its_token() -> None:
    place = ((' "A', math.log(0.9)), (' "B', math.log(0.1)))
    early = Token('{"side": "B"}, or {"side":', -0.1, (("B", -0.1), ("A", -3.0)))
    found = odds([early, Token(' "A', math.log(0.9), place), Token('"}', -0.1, ELSE)])
    assert found.log_odds == pytest.approx(math.log(9), abs=1e-12)


def test_a_letter_alone_is_a_place_too() -> None:
    place = (("B", math.log(0.8)), ("A", math.log(0.2)))
    found = odds([Token("**", -0.1, ELSE), Token("B", math.log(0.8), place)], "B")
    assert found.log_odds == pytest.approx(-math.log(4), abs=1e-12)


@pytest.mark.parametrize("likeliest", [(), [("A", 0.0)], [("A", 0.0), ("B", -9999.0)]])
def test_one_token_alone_says_nothing_and_is_no_fault(likeliest: Any) -> None:
    assert odds(said(likeliest)) == Odds()
    assert odds([]) == Odds()
    assert odds([Token("It is A", -0.1, ELSE)]) == Odds()


FAIR = [("A", math.log(0.6)), ("B", math.log(0.3))]


@pytest.mark.parametrize(
    ("tokens", "fault"),
    [
        (said([("A", 0.7), ("B", 0.3)]), "range"),  # probabilities, not their logarithms
        (said([("A", math.nan), ("B", -1.0)]), "range"),
        (said([("A", -0.1), ("B", -math.inf)]), "range"),
        (said([*FAIR, ("C", -0.5)]), "sum"),
        (said([("A", -0.1), ("B", -2.0), ("A", -0.1)]), "sum"),  # one token, named twice
        (said([("B", -0.1), ("C", -3.0)]), "unlisted"),
        (said(FAIR, own=-0.1), "unlisted"),
        (said(FAIR, own=-9999.0), "unlisted"),
        ([*said(FAIR), Token(" ", -0.1, tuple(FAIR))], "repeated"),
        (said(FAIR, "B"), "other"),
        (said([("A", math.log(0.3)), ("B", math.log(0.6))]), "contradicts"),
    ],
)
def test_odds_that_cannot_be_true_are_not_used_and_the_fault_has_a_name(
    tokens: list[Token], fault: str
) -> None:
    assert odds(tokens) == Odds(None, fault)
    assert fault in FAULTS


def test_above_temperature_0_the_less_likely_side_may_be_written() -> None:
    tokens = said([("A", math.log(0.3)), ("B", math.log(0.6))])
    assert odds(tokens, is_greedy=False).log_odds == pytest.approx(-math.log(2), abs=1e-12)


def test_rounding_is_no_fault() -> None:
    tokens = said([("A", 0.0005), ("B", -8.0)], own=0.0)
    assert odds(tokens).log_odds == pytest.approx(8.0, abs=1e-12)


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        {"content": None},
        {"content": [3]},
        {"content": [{"token": "A", "logprob": -1, "top_logprobs": 3}]},
        {"content": [{"token": "A", "logprob": -1}]},
    ],
)
def test_log_probabilities_of_another_form_give_no_tokens(logprobs: Any) -> None:
    assert read_tokens(logprobs) == ()


@pytest.mark.parametrize("number", ["-0.5", None, True, {}, 10**400])
def test_an_invalid_log_probability_is_a_fault_of_range(number: Any) -> None:
    top = [{"token": "A", "logprob": number}, {"token": "B", "logprob": -1}]
    content = [
        {"token": '{"side": "', "logprob": -0.1, "top_logprobs": []},
        {"token": "A", "logprob": -0.5, "top_logprobs": top},
        {"token": '"}', "logprob": -0.1, "top_logprobs": None},
    ]
    assert odds(list(read_tokens({"content": content}))).fault == "range"
