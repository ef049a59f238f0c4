"""The chapters about accuracy when something is missing, and what must not change them."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import MissingResult, to_json
from analysis.data.dataset import NO_TRIALS, SourceData
from analysis.report.chapters.accuracy.results import Accuracy, Positions, Subfields
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.chapters.uncertainty.results import Sensitivity
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import (
    ABOUT_ACCURACY,
    approximately,
    page_of,
    results_of,
)


def empty(data: SourceData, *names: str) -> SourceData:
    return replace(data, **{name: getattr(data, name).iloc[:0] for name in names})


def missing(value: object) -> bool:
    return isinstance(value, MissingResult)


def test_without_models_people_are_still_described(small):
    found = results_of(empty(small, "full", "models"))
    own = found.of(Accuracy)
    assert own.humans.trials.n == len(small.trials)
    absent = (own.models, own.models_mean, own.models_vs_humans, own.base_vs_chat)
    assert {why.reason for why in absent} == {small.no_scores[0]}
    assert own.extra_models == ()
    assert found.of(Subfields).subfields[0].models_mean is None
    assert [row.name for row in found.of(Calibration).calibration.table_s3] == ["human"]
    assert found.of(Sensitivity).sensitivity[2].models_mean is None


def test_without_people_models_are_still_described(small):
    found = results_of(empty(small, "trials"))
    own, calibration = found.of(Accuracy), found.of(Calibration).calibration
    assert own.models_mean.n == 3
    absent = (own.humans, own.models_vs_humans, found.of(Positions).positions)
    absent += (found.of(Expertise).expertise, calibration.humans)
    assert {why.reason for why in absent} == {NO_TRIALS[0]}
    assert len(calibration.models) == 3
    assert found.of(Subfields).subfields[0].humans is None


def test_with_nothing_every_chapter_says_why(small):
    found = results_of(empty(small, "trials", "full", "models", "participants"))
    for chapter in ABOUT_ACCURACY:
        first = chapter.missing_in(found)[0]
        assert first is not None
        assert first.needed


def test_one_trial_is_enough_for_an_accuracy(small):
    found = results_of(replace(small, trials=small.trials.iloc[:1]))
    humans, calibration = found.of(Accuracy).humans, found.of(Calibration).calibration
    assert humans.trials.n == 1
    assert humans.over_items.ci95 is None
    assert missing(humans.top_expertise)
    assert missing(calibration.humans.binned)
    assert missing(calibration.table_s3[-1].fit)
    assert len(found.of(Positions).positions) == 1
    for chapter in ABOUT_ACCURACY:
        page_of(chapter, found)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("is_correct", True),
        ("is_correct", False),
        ("confidence", 50.0),
        ("confidence", np.nan),
        ("expertise", np.nan),
        ("slider_moved", False),
    ],
)
def test_a_column_of_one_value_stops_only_what_needs_it(small, column, value):
    found = results_of(replace(small, trials=small.trials.assign(**{column: value})))
    own, people = found.of(Accuracy), found.of(Calibration).calibration.humans
    assert own.humans.trials.n == len(small.trials)
    assert own.models_vs_humans.human_accuracy == own.humans.trials.accuracy
    assert missing(people.binned) == (column == "confidence")
    assert missing(people.logistic) == (column in ("confidence", "is_correct"))
    assert missing(found.of(Expertise).expertise) == (column == "expertise")
    for chapter in ABOUT_ACCURACY:
        page_of(chapter, found)


def test_a_model_that_scored_some_items_does_not_hide_the_others(small):
    full = small.full[(small.full["model"] != 0) | (small.full["item"] < 1)]
    found = results_of(replace(small, full=full))
    assert [m.items.n for m in found.of(Accuracy).models] == [1, 30, 30]
    assert [len(one.models) for one in found.of(Subfields).subfields] == [3, 2, 2]


def test_one_item_and_no_set_still_work():
    data = make_data(n_items=1, trials_each=1, n_participants=12)
    found = results_of(replace(data, models=data.models.assign(in_set=False)))
    assert len(found.of(Accuracy).models) == 4
    assert found.of(Accuracy).extra_models == ()
    assert found.of(Sensitivity).sensitivity[1].humans is None  # the one item is damaged


def test_the_order_of_trials_matters_only_where_ties_are_broken_by_it(small):
    rng = np.random.default_rng(9)
    trials = small.trials.assign(
        confidence=rng.permutation(len(small.trials)) / 4,
        expertise=rng.permutation(len(small.trials)) / 4,
    )
    one = results_of(replace(small, trials=trials))
    other = results_of(replace(small, trials=trials.sample(frac=1, random_state=1)))
    for kind in (Accuracy, Subfields, Positions):
        assert approximately(to_json(one.of(kind)), to_json(other.of(kind)))
    first, second = (to_json(own.of(Calibration).calibration.humans) for own in (one, other))
    for key in ("binned", "logistic", "ece"):
        assert approximately(first[key], second[key])


def test_swapping_which_side_holds_the_original_changes_nothing(small):
    swap = {"A": "B", "B": "A", "": ""}
    trials = small.trials.assign(
        side=small.trials["side"].map(swap), original_side=small.trials["original_side"].map(swap)
    )
    one, other = results_of(small), results_of(replace(small, trials=trials))
    for chapter in ABOUT_ACCURACY:
        assert chapter.to_json(one) == chapter.to_json(other)
