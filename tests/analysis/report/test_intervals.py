"""No interval of a report is a point: data that do not vary say nothing of how others would."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.codec import to_json
from analysis.data.dataset import SourceData
from analysis.report.chapter import Part
from analysis.report.contents import CHAPTERS
from tests.analysis.advised_made import with_advice
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import built_of
from tests.analysis.report.test_sentences import GRADED, NO_TEAMS, STUDIES, scored, tied

NARROW = 1e-9  # of the larger end

POINTS = {
    # Order statistics, which hold the quantile of any distribution, also of one that repeats a value
    r"reaction_times\.\S*ci95",
    r"expertise\.(distributions\[\]\.ratings\.p80_|p80_by_subfield\[\]\.)ci95",
}


def alike(data: SourceData) -> SourceData:
    """With the same ratings and times in all trials."""
    same = {"confidence": 70.0, "expertise": 40.0, "rt_ms": 30_000.0}
    return replace(data, trials=data.trials.assign(**same))


def judged(data: SourceData, right: Callable[[Any, Any], Any]) -> SourceData:
    """right: of participants and test cases, whether they are."""
    own = right(data.trials["participant"], data.trials["item"])
    return alike(replace(data, trials=data.trials.assign(is_correct=own)))


def whole(n: int, n_models: int = 3) -> SourceData:
    """n participants, who judge all of n test cases."""
    return make_data(n_participants=n, n_items=n, n_models=n_models, trials_each=n)


def asked_alike(n_items: int, side: str, **columns: object) -> SourceData:
    """A model that answers alike on all test cases. side: the letter, or "" the original's."""
    data = make_data(n_models=2, n_items=n_items)
    answers = answers_of(np.ones(n_items), confidence=lambda p: np.full(len(p), 80.0))
    sides = side or answers["original_side"]
    return with_asked(data, (0, answers.assign(side=sides, **columns)))


def unmoved() -> SourceData:
    data = with_advice(has_beside=False, n_people=12, n_items=12, each=6)
    own = data.advised
    has_first = own["right_before"].notna()
    return replace(
        data,
        advised=own.assign(
            right_after=own["right_before"].where(has_first, own["right_after"]),
            confidence_after=60.0,
            confidence_before=own["confidence_before"].where(~has_first, 60.0),
            rt_before_ms=own["rt_before_ms"].where(~has_first, 20_000.0),
            rt_ms=30_000.0,
        ),
    )


EDGES: dict[str, Callable[[], SourceData]] = {
    "all right and sure alike": lambda: scored(
        judged(whole(12), lambda _, item: item >= 0), lambda _, item: 0.1 + 0 * item
    ),
    "right on a third less, everywhere": lambda: judged(
        whole(6), lambda person, item: (person + item) % 3 != 0
    ),
    "ranked alike": lambda: scored(
        judged(whole(5), lambda person, item: person >= 4 - item),
        lambda model, item: 0.1 * (item + 1) * (model + 1),
    ),
    "one test case": lambda: make_data(n_participants=6, n_items=1, n_models=1, trials_each=1),
    "all right, models tie": lambda: tied(judged(whole(4), lambda _, item: item >= 0)),
    "models alike, no people": lambda: (
        lambda data: scored(
            replace(data, trials=data.trials.iloc[:0]), lambda _, item: np.log(1.5) + 0 * item
        )
    )(whole(12)),
    "asked, always right": lambda: asked_alike(20, ""),
    "asked, always A": lambda: asked_alike(24, "A"),
    "asked, symmetric": lambda: (
        lambda data: replace(
            data,
            choices=data.choices.assign(
                log_odds=(1.0 + data.choices["item"])
                * np.where(data.choices["original_side"] == "A", 1, -1)
            ),
        )
    )(asked_alike(24, "")),
    "advice moves nobody": unmoved,
}
SLOW = NO_TEAMS | {
    "advice moves nobody",
    "asked, always right",
    "asked, always A",
    "asked, symmetric",
}


def intervals_in(found: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Where each interval is, without numbers of rows, and its width beside its larger end."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name.endswith("ci95") and value is not None:
                yield f"{place}.{name}".lstrip("."), np.ptp(value) / (np.abs(value).max() or 1)
            yield from intervals_in(value, f"{place}.{name}")
    elif isinstance(found, list):
        for value in found:
            yield from intervals_in(value, f"{place}[]")


def of_no_width(data: SourceData, *, graded: bool, has_teams: bool) -> str:
    found, n = set(), 0
    for chapter in CHAPTERS:
        if (chapter.part is Part.QUESTIONS) != graded or (chapter.id == "teams" and not has_teams):
            continue
        results = built_of(replace(data, resamples=20), chapter).results
        for place, width in intervals_in(json.loads(json.dumps(to_json(results)))):
            n += 1
            if width <= NARROW and not any(re.fullmatch(one, place) for one in POINTS):
                found.add(place)
    assert n
    return "; ".join(sorted(found))


@pytest.mark.parametrize("study", STUDIES | EDGES)
def test_no_interval_is_a_point(study: str) -> None:
    data = (STUDIES | EDGES)[study]()
    assert of_no_width(data, graded=False, has_teams=study not in SLOW) == ""


@pytest.mark.parametrize("answers", GRADED)
def test_no_interval_of_graded_answers_is_a_point(answers: str) -> None:
    data = make_data(n_participants=3, n_items=4, n_models=1, trials_each=3)
    data = replace(data, graded=GRADED[answers]())
    assert of_no_width(data, graded=True, has_teams=False) == ""
