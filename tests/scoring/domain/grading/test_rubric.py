"""Rubrics, and texts of judges read by them."""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.domain.backend import ScoringError
from scoring.domain.grading.reading import MINUS, read_points, schema
from scoring.domain.grading.rubric import BIOSCORE, Fate, Rubric
from tests.scoring.domain.grading.hostile import hostile


def changed(**changes: Any) -> dict[str, Any]:
    return {**BIOSCORE.to_json(), **changes}


def test_a_rubric_is_the_same_after_a_way_through_json() -> None:
    again = Rubric.from_json(json.loads(json.dumps(BIOSCORE.to_json())))

    assert again == BIOSCORE
    assert again.sha256 == BIOSCORE.sha256
    assert Rubric.from_json(changed(name="Another")).sha256 != BIOSCORE.sha256


def test_two_thirds_of_the_points_are_good_however_the_share_is_written() -> None:
    for share in (2 / 3, "2/3", " 2 / 3 ", "0.6666666666", ".6666666666666666", 0.6666666666):
        assert Rubric.from_json(changed(good_from=share)).fate(2) is Fate.GOOD
    assert BIOSCORE.fate(1.999) is Fate.BAD


def test_only_minus_one_is_an_abstention_and_other_numbers_below_zero_are_bad() -> None:
    assert BIOSCORE.fate(-1) is Fate.ABSTAINED
    assert BIOSCORE.fate(-0.5) is BIOSCORE.fate(-2) is Fate.BAD
    assert BIOSCORE.normalised(-0.5) == 0


def test_no_grade_and_no_number_are_unparsed() -> None:
    assert BIOSCORE.fate(None) is BIOSCORE.fate(float("nan")) is Fate.UNPARSED


def test_deductions_never_turn_a_wrong_answer_into_an_abstention() -> None:
    names = [deduction.name for deduction in BIOSCORE.deductions]
    for level, some in product(BIOSCORE.levels, ([], names[:1], names[1:], names)):
        assert BIOSCORE.fate(BIOSCORE.total(level.points, some)) is not Fate.ABSTAINED


LEVEL = {"points": 1, "label": "right", "description": ""}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        changed(levels=[]),
        changed(levels=[LEVEL]),
        changed(levels=[LEVEL, LEVEL]),
        changed(levels=[LEVEL, LEVEL | {"points": -1}]),
        changed(levels=[LEVEL, LEVEL | {"points": float("nan")}]),
        changed(levels=[LEVEL, LEVEL | {"points": "0"}]),
        changed(levels=[LEVEL, LEVEL | {"points": True}]),
        changed(levels=[LEVEL, LEVEL | {"points": 0, "label": ""}]),
        changed(deductions=[{"name": "a", "points": 0}]),
        changed(deductions=[{"name": "a", "points": 1}, {"name": "a", "points": 2}]),
        changed(abstention=0),
        changed(abstention=-2),
        changed(good_from=0),
        changed(good_from=None),
        changed(good_from="1e15000000"),
        changed(good_from="1e400"),
        changed(good_from="1/0"),
        changed(good_from="1_0/2_0"),
        changed(name=""),
        changed(name="a\0b"),
        changed(name="a\udc00"),
    ],
)
def test_an_invalid_rubric_is_refused(data: Any) -> None:
    with pytest.raises(ScoringError):
        Rubric.from_json(data)


HOSTILE = list(hostile())


def fate(text: str) -> Fate:
    return BIOSCORE.fate(read_points(text, BIOSCORE))


def test_five_hundred_hostile_texts_are_read_right_or_not_at_all() -> None:
    assert len({text for text, _ in HOSTILE}) == len(HOSTILE) >= 500

    wrong = [
        (t, read_points(t, BIOSCORE), is_) for t, is_ in HOSTILE if read_points(t, BIOSCORE) != is_
    ]

    assert not wrong


def test_the_first_number_of_a_text_is_not_its_grade() -> None:
    assert fate("1. It names the target. Final: 3.0") is Fate.UNPARSED
    assert fate("3.0") is Fate.GOOD


@pytest.mark.parametrize("sign", MINUS)
def test_an_abstention_is_one_whichever_minus_sign_a_judge_writes(sign: str) -> None:
    assert fate(f"{sign}1") is Fate.ABSTAINED
    assert fate(f"{sign}1.0.") is Fate.ABSTAINED


@given(st.text(max_size=60))
def test_no_text_is_read_as_points_off_the_scale(text: str) -> None:
    points = read_points(text, BIOSCORE)

    assert points is None or points <= BIOSCORE.top


@given(st.text(alphabet='0123456789.,-\u2212+ "*`{}:points\n/e', max_size=40))
def test_a_text_with_two_numbers_is_never_a_grade(text: str) -> None:
    two = f"{text} 3 {text}2"

    assert read_points(two, BIOSCORE) is None


@given(st.floats(-1000, 1000).map(lambda value: round(value, 3)))
def test_any_plain_number_is_read_and_clipped_to_the_top(value: float) -> None:
    assert read_points(f"{value:f}", BIOSCORE) == min(value, 3)


@given(st.text(alphabet="abc:;!? ", min_size=1, max_size=20), st.sampled_from(["3", "-1", "2.5"]))
def test_a_number_with_any_word_before_or_after_it_is_not_read(words: str, number: str) -> None:
    if words.strip():
        assert read_points(words + number, BIOSCORE) is None
        assert read_points(number + words, BIOSCORE) is None


def test_every_grade_that_the_schema_allows_is_read_as_itself() -> None:
    allowed = schema(BIOSCORE)["properties"]["points"]["enum"]

    assert [read_points(json.dumps({"points": p}), BIOSCORE) for p in allowed] == list(
        BIOSCORE.values
    )
