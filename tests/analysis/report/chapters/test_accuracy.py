"""Accuracy: the published values, and what happens where models or trials are few."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest

from analysis.codec import MissingResult, to_json
from analysis.data.dataset import NO_TRIALS, SourceData
from analysis.report.chapters.accuracy.results import REST, Accuracy, Positions, Subfields
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.chapters.uncertainty.results import Sensitivity
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import page_of, results_of

ACCURACY = chapter_named("accuracy")
POSITIONS = chapter_named("positions")
SUBFIELDS = chapter_named("subfields")


def accuracy(data):
    return results_of(data, ACCURACY).of(Accuracy)


def test_what_the_reference_does_not_hold_is_as_published(published, reference):
    found = results_of(published, ACCURACY, SUBFIELDS, POSITIONS)
    ours = found.of(Accuracy)
    assert [m.name for m in ours.models] == reference["meta"]["models_order"]
    pairs = [[pair.base, pair.chat] for pair in ours.base_vs_chat.pairs]
    assert pairs == reference["base_vs_chat_paired_t"]["pairs"]
    # The paper's printed 25.8 needs the mean of the items' means
    assert ours.models_vs_humans.t_item_means == pytest.approx(25.8052, abs=5e-5)
    for one in found.of(Subfields).subfields:
        known = reference["subfields"][one.subfield]
        assert one.n_models_below_humans == len(known["llm_below_human"])
        shares = {model.name: model.share.accuracy for model in one.models}
        assert shares == pytest.approx({m: v["accuracy"] for m, v in known["llm"].items()})
    positions = [one.position for one in found.of(Positions).positions]
    assert positions == [
        *published.position_order[:-1],
        REST,
    ]  # fewer than 5 chose its last, "Other"


def test_ties_are_half_and_near_ties_named(small):
    full = small.full.copy()
    row = full.index[(full["model"] == 0) & (full["item"] == 4)]
    full.loc[row, "ppl_altered"] = full.loc[row, "ppl_original"]
    full.loc[row, "is_near_tie"], full.loc[row, "points"] = True, 0.5
    found = accuracy(replace(small, full=full)).models[0]
    assert found.items.n_ties == 1
    assert small.items["key"].iloc[4] in found.near_tie_items


def test_a_model_counted_twice_moves_no_other_models_accuracy_nor_the_peoples(small):
    again = small.models.iloc[[2]].assign(name="org/again", in_set=True)
    models = pd.concat([small.models.iloc[:3], again], ignore_index=True)
    full = small.full[small.full["model"] < 3]
    twin = full[full["model"] == 2].assign(model=3)
    data = replace(small, models=models, full=pd.concat([full, twin], ignore_index=True))
    one, two = accuracy(small), accuracy(data)
    assert to_json(two.models[:3]) == to_json(one.models)
    assert two.models[3].items == two.models[2].items
    assert two.models_mean.n == one.models_mean.n + 1
    assert two.humans == one.humans
    assert two.models_vs_humans.human_accuracy == one.humans.trials.accuracy


def test_a_mean_of_two_models_has_no_brackets_around_a_missing_interval(small):
    data = replace(small, models=small.models.iloc[:2], full=small.full[small.full["model"] < 2])
    words = page_of(ACCURACY, results_of(data, ACCURACY))[1]
    assert "2 language models found the original in" in words
    assert "95% CI" not in words.split("on average")[0].split("2 language models")[1]
    assert "(95% CI" in page_of(ACCURACY, results_of(small, ACCURACY))[1]


def holding(data: SourceData, careers: Sequence[str]) -> SourceData:
    return replace(data, participants=data.participants.assign(career=list(careers)))


def test_positions_of_fewer_people_than_may_be_named_are_counted_with_those_not_stated(small):
    listed = small.position_order[0]
    careers = ["Clinician"] * 5 + ["Nurse"] * 4 + [""] + [listed] * 30
    source = results_of(holding(small, careers), ACCURACY, POSITIONS)
    found = source.of(Positions).positions
    people = [(one.position, one.n_participants) for one in found]
    assert people == [(listed, 30), ("Clinician", 5), (REST, 5)]
    assert sum(one.trials.n for one in found) == len(small.trials)
    assert "fewer than 5 people" in page_of(POSITIONS, source)[1]


def test_positions_are_missing_where_none_may_be_named(small):
    fours = ["ABCDEFGHIJ"[n // 4] for n in range(40)]
    for careers, why in ((fours, "5 or more"), ([""] * 40, "gave this"), (["A", *[""] * 39], "5 ")):
        missing = results_of(holding(small, careers), POSITIONS).of(Positions).positions
        assert why in missing.reason


# --- What is missing leaves the rest as it is; test_partial_data.py has all chapters


def without(data: SourceData, *names: str) -> SourceData:
    return replace(data, **{name: getattr(data, name).iloc[:0] for name in names})


def test_without_models_people_are_described_and_without_people_models_are(small):
    people, models = (
        results_of(without(small, "full", "models")),
        results_of(without(small, "trials")),
    )
    own = people.of(Accuracy)
    assert own.humans == accuracy(small).humans
    absent = (own.models, own.models_mean, own.models_vs_humans, own.base_vs_chat)
    assert {why.reason for why in absent} == {small.no_scores[0]}
    assert people.of(Subfields).subfields[0].models_mean is None
    assert people.of(Sensitivity).sensitivity[2].models_mean is None
    own = models.of(Accuracy)
    assert to_json(own.models_mean) == to_json(accuracy(small).models_mean)
    absent = (own.humans, own.models_vs_humans, models.of(Positions).positions)
    absent += (models.of(Expertise).expertise, models.of(Calibration).calibration.humans)
    assert {why.reason for why in absent} == {NO_TRIALS[0]}
    assert models.of(Subfields).subfields[0].humans is None


@pytest.mark.parametrize("column", ["confidence", "is_correct", "expertise", "slider_moved"])
def test_a_column_of_one_value_stops_only_what_needs_it(small, column):
    found = results_of(replace(small, trials=small.trials.assign(**{column: True})))
    people = found.of(Calibration).calibration.humans
    missing = [
        isinstance(part, MissingResult)
        for part in (people.binned, people.logistic, found.of(Accuracy).humans)
    ]
    assert missing == [column == "confidence", column in ("confidence", "is_correct"), False]
