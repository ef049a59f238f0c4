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


MORE = (
    ('{"side": "B"}', None),
    ('{"side": "B", "confidence": true}', None),
    ('{"side": "B", "confidence": "high"}', None),
    ('{"side": "B", "confidence": 8e1000}', None),
    (f'{{"side": "B", "confidence": 1{"0" * 400}}}', None),
    ('{"side": "B", "confidence": NaN}', None),
    ('{"side": "B", "confidence": 180}', None),
    ('{"side": "B", "confidence": -1}', None),
    ('{"side": "B", "confidence": 80, "confidence": 90}', None),
    ('{"side": "B", "confidence": 80, "reason": "A is too good to be true: {x}."}', 80),
    ('{"thoughts": {"doses": [1, 2]}, "side": "B", "confidence": 80}', 80),
    ('{"answer": {"side": "B", "confidence": 80}}', 80),
    ('[{"side": "B", "confidence": 80}] or not', 80),
    (f"{GOOD}\n\nThe second version fits earlier work.", 80),
    (f"{GOOD} But I may be wrong.", 80),
    (f'{GOOD}\n{{"note": "as asked"}}', 80),
    ('{"side": "B", "confidence": 70}\n' + GOOD, None),
    (r"\frac{1}{2} of the cells. " + GOOD, 80),
    ('{"a":' * 50_000 + GOOD, 80),
    ("B", None),
    ("**B**", None),
    ("(B)", None),
    ("Answer: $B$", None),
    (r"\boxed{B}", None),
    (r"$\boxed{\text{B}}$", None),
    ("Version B.", None),
    ("B 180", None),
    ("B 0.8", 80),
    ('{"side": "B", "confidence": 0.8}', 80),
    ('{"side": "B", "confidence": "0.8"}', 80),
    ('{"side": "B", "confidence": 1}', 100),
)


@pytest.mark.parametrize(("text", "confidence"), MORE)
def test_a_text_that_names_one_side_is_a_choice_despite_other_words(
    text: str, confidence: float | None
) -> None:
    assert read_choice(text) == Chosen("B", confidence)


@pytest.mark.parametrize(
    "text", ["B 49", "B, 0.4", '{"side": "B", "confidence": 45}', '{"side": "B", "confidence": 0}']
)
def test_a_confidence_below_half_contradicts_the_side_and_is_no_confidence(text: str) -> None:
    assert read_choice(text) == Chosen("B", None, is_below_half=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b",
        "b 80",
        "I think it is B, 80",
        "I think that A study like this would find more.",
        "Both are plausible; 42, or B and A.",
        "Not A",
        "Not A 80",
        "A or B",
        "A or B, 80",
        "AB",
        "B -80",
        "B 80-90",
        "Réponse : B, confiance 80",
        "回答: B, 信心 80",
        "The answer is B.",
        r"\boxed{A or B}",
        '{"side": "C", "confidence": 80}',
        '{"side": "A or B", "confidence": 80}',
        '{"side": ["B"], "confidence": 80}',
        '{"side": null}',
        '{"choice": "B", "confidence": 80}',
        '{"side": "A", "side": "B", "confidence": 80}',
        '{"side": "A", "final": "B"}',
        '{"side": "A", "other": {"side": "B"}}',
        '{"side": "A", "confidence": 80}\n' + GOOD,
        '{"side": "A", "confidence": 90} or {"side": "B", "confidence": 90}',
        '{"side": "B", "confidence": 80',
        f"{GOOD}\nOn reflection, A.",
        f'{GOOD}\n{{"choice": "A", "confidence": 90}}',
        f'{GOOD}\n{{"choice": "a"}}',
        f'{GOOD} {{"side": "A", confidence: 90}}',
        f'{{"side": "A", confidence: 90}} {GOOD}',
        f'{{"side": "C", "confidence": 90}} {GOOD}',
        "B 80 " * 100,
        "{" * 200_000,
    ],
)
def test_a_text_that_names_both_sides_or_none_is_unparsed(text: str) -> None:
    assert read_choice(text) is None


@given(st.text(alphabet='AB{}"side:, 80\n', max_size=40))
def test_no_words_after_a_choice_turn_it_round(words: str) -> None:
    assert read_choice(GOOD + words) in (None, Chosen("B", 80), Chosen("B"))


PREFIXES = ("", "A? ", "Version B says that rats ran. ", 'Ignore this: {"side": "A"}. ', "`B 90` ")
SUFFIXES = ("", ".", " Thanks!", "\n```", " (A)", " (B)")
CONFIDENCES = (None, -1, 0.7, 49, 49.9, 50, 77, 100, 101, 1e9, "80", "80%", "high", True)


@pytest.mark.parametrize("side", ["A", "B", "a", "", "AB", "C", None, 1])
def test_five_hundred_answers_are_read_right_or_flagged(side: object) -> None:
    for before, after, confidence in product(PREFIXES, SUFFIXES, CONFIDENCES):
        said = before + json.dumps({"side": side, "confidence": confidence}) + after
        number = {"80": 80, "80%": 80, 0.7: 70}.get(confidence, confidence)  # type: ignore[arg-type]
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        meant = str(side).upper()
        others = {"A": "B", "B": "A"}.get(meant, "")
        is_meant = bool(others) and f"({others})" not in after
        if '{"side": "A"}' in before and (meant == "B" or not is_meant):
            is_meant = False
        percent = float(number) if is_number and 50 <= number <= 100 else None  # type: ignore[arg-type,operator]
        is_below = is_number and 0 <= number < 50  # type: ignore[operator]
        expected = Chosen(meant, percent, is_below_half=is_below)
        if is_meant and '{"side": "A"}' in before and expected != Chosen("A"):
            expected = Chosen("A")  # two objects, and only one of them states a confidence
        assert read_choice(said) == (expected if is_meant else None), said
