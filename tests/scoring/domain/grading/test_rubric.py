import json
from itertools import product
from typing import Any

import pytest

from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import BIOSCORE, Fate, Rubric


def changed(**changes: Any) -> dict[str, Any]:
    return {**BIOSCORE.to_json(), **changes}


def test_a_rubric_is_the_same_after_a_way_through_json() -> None:
    again = Rubric.from_json(json.loads(json.dumps(BIOSCORE.to_json())))

    assert again == BIOSCORE
    assert again.sha256 == BIOSCORE.sha256
    assert Rubric.from_json(changed(name="Another")).sha256 != BIOSCORE.sha256


def test_two_thirds_of_the_points_are_good_however_the_share_is_written() -> None:
    for share in (2 / 3, "2/3", 0.6666666666):
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


def test_without_a_number_for_abstention_minus_one_is_bad() -> None:
    assert Rubric.from_json(changed(abstention=None)).fate(-1) is Fate.BAD


LEVEL = {"points": 1, "label": "right", "description": ""}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        changed(other=1),
        changed(levels=[]),
        changed(levels=[LEVEL]),
        changed(levels=[LEVEL, LEVEL]),
        changed(levels=[LEVEL, LEVEL | {"points": -1}]),
        changed(levels=[LEVEL, LEVEL | {"points": float("nan")}]),
        changed(levels=[LEVEL, LEVEL | {"points": "0"}]),
        changed(levels=[LEVEL, LEVEL | {"points": True}]),
        changed(levels=[LEVEL, LEVEL | {"points": 0, "label": ""}]),
        changed(levels="levels"),
        changed(deductions=[{"name": "a", "points": 0}]),
        changed(deductions=[{"name": "a", "points": 1}, {"name": "a", "points": 2}]),
        changed(abstention=0),
        changed(abstention=-2),
        changed(abstention=-(10**400)),
        changed(abstention="-1"),
        changed(good_from=0),
        changed(good_from=1.1),
        changed(good_from="1/0"),
        changed(good_from=None),
        changed(name=""),
        changed(name="n" * 81),
    ],
)
def test_what_is_no_rubric_is_refused(data: Any) -> None:
    with pytest.raises(ScoringError):
        Rubric.from_json(data)
