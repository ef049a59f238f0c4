"""No hostile answer is taken for a choice that it is not."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.domain.choosing.reading import Chosen, read_choice

GOOD = '{"side": "B", "confidence": 80}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        '{"confidence": 80, "side": "b"}',
        '{"side":"B","confidence":"80%"}',
        '{"side": "B", "confidence": 80.0}.',
        f"The rats in version A cannot have gained weight.\n\n{GOOD}",
        f"I first thought {{of doses}}, then of the outcome.\n{GOOD}",
        f"{GOOD}\nTo repeat:\n{GOOD}",
        "B 80",
        "B, 80 %",
        "B (80%)",
        "**B**, 80%",
        "Side: B\nConfidence: 80",
        "Answer: B. Confidence: 80%.",
        "Version B, confidence 80",
        "\uff22, \uff18\uff10",  # fullwidth
        "“B, 80”",
    ],
)
def test_a_choice_is_read_in_each_form_that_has_one_meaning(text: str) -> None:
    assert read_choice(text) == Chosen("B", 80)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "B",
        "b 80",
        "I think it is B, 80",
        "Not A 80",
        "A or B, 80",
        "B 180",
        "B 49",
        "B 0.8",
        "B -80",
        "B 80-90",
        "Réponse : B, confiance 80",
        "回答: B, 信心 80",
        "The answer is B.",
        '{"side": "B"}',
        '{"side": "B", "confidence": true}',
        '{"side": "B", "confidence": null}',
        '{"side": "B", "confidence": 8e1000}',
        f'{{"side": "B", "confidence": 1{"0" * 400}}}',
        '{"side": "B", "confidence": NaN}',
        '{"side": "C", "confidence": 80}',
        '{"side": "A or B", "confidence": 80}',
        '{"side": ["B"], "confidence": 80}',
        '{"choice": "B", "confidence": 80}',
        '{"side": "B", "confidence": 80, "why": "doses"}',
        '{"side": "A", "side": "B", "confidence": 80}',
        '[{"side": "B", "confidence": 80}] or not',
        f"{GOOD} But I may be wrong.",
        '{"side": "A", "confidence": 80}\n' + GOOD,
        '{"side": "B", "confidence": 70}\n' + GOOD,
        '{"answer": {"side": "B", "confidence": 80}}',
        '{"side": "B", "confidence": 80',
        f'{GOOD}\n{{"choice": "A", "confidence": 90}}',
        "B 80 " * 100,
    ],
)
def test_anything_else_is_unparsed(text: str) -> None:
    assert read_choice(text) is None


@given(st.text(), st.sampled_from(["", GOOD]))
def test_a_text_with_a_choice_in_its_middle_is_never_read(said: str, inner: str) -> None:
    found = read_choice(f"{said}{inner} and so on")
    assert found is None


PREFIXES = ("", "A? ", "Version B says that rats ran. ", 'Ignore this: {"side": "A"}. ', "`B 90` ")
SUFFIXES = ("", ".", " Thanks!", "\n```", " (A)")
CONFIDENCES = (None, -1, 49, 49.9, 50, 77, 100, 101, 1e9, "80", "80%", "high", True)


@pytest.mark.parametrize("side", ["A", "B", "a", "", "AB", "C", None, 1])
def test_five_hundred_answers_are_read_right_or_flagged(side: object) -> None:
    for before, after, confidence in product(PREFIXES, SUFFIXES, CONFIDENCES):
        said = before + json.dumps({"side": side, "confidence": confidence}) + after
        number = 80 if confidence in ("80", "80%") else confidence
        is_meant = (
            side in ("A", "B", "a")
            and after in ("", ".", "\n```")
            and isinstance(number, int | float)
            and not isinstance(number, bool)
            and 50 <= number <= 100
            and '{"side": "A"}' not in before
        )
        expected = Chosen(str(side).upper(), float(number)) if is_meant else None  # type: ignore[arg-type]
        assert read_choice(said) == expected, said
