"""Accuracy: the published values, and what happens where models or trials are few."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.codec import MissingResult, to_json
from analysis.data.dataset import NO_TRIALS, SourceData
from analysis.report.chapters.accuracy.results import Accuracy, Positions, Subfields
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.chapters.uncertainty.results import Sensitivity
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import (
    ABOUT_ACCURACY,
    page_of,
    results_of,
    same_test,
)

ACCURACY = chapter_named("accuracy")
POSITIONS = chapter_named("positions")
SUBFIELDS = chapter_named("subfields")


def accuracy(data):
    return results_of(data, ACCURACY).of(Accuracy)


@pytest.fixture(scope="module")
def ours(published):
    return accuracy(published)


def share(known):
    sem = known.get("sem_binomial", known.get("sem"))
    return pytest.approx((known["accuracy"], sem), rel=1e-9)


def test_people_are_as_right_as_published(ours, reference):
    found, known = ours.humans, reference["human_overall"]
    assert (found.trials.accuracy, found.trials.sem) == share(known)
    counts = (found.trials.n, found.trials.n_correct, found.n_participants, found.n_items)
    keys = ("n_trials", "n_correct", "n_participants", "n_items")
    assert counts == tuple(known[key] for key in keys)
    people, items = found.over_participants, found.over_items
    assert people.mean == pytest.approx(known["mean_of_participant_means"], rel=1e-9)
    assert people.sem == pytest.approx(known["sem_over_participants"], rel=1e-9)
    assert items.mean == pytest.approx(known["mean_of_item_means"], rel=1e-9)
    assert items.sem == pytest.approx(known["sem_over_items"], rel=1e-9)
    top = found.top_expertise
    assert (top.trials.accuracy, top.trials.sem) == share(known["top20_per_item"])
    assert top.n_items_without == known["top20_per_item"]["n_items_with_zero"]
    assert top.above_p80.trials.n == known["alt_global_ge_p80"]["n"]


def test_models_are_as_right_as_published(ours, reference):
    assert [m.name for m in ours.models] == reference["meta"]["models_order"]
    for m in ours.models:
        known = reference["llm_accuracy"][m.name]
        counts = (m.items.n, m.items.n_correct, m.n_ties)
        assert counts == (known["n"], known["n_correct"], known["ties"])
        assert (m.items.accuracy, m.items.sem) == share(known)
    extra = {m.name: m.items for m in ours.extra_models}
    for name, known in reference["other_models_figS2"].items():
        assert (extra[name].accuracy, extra[name].sem) == share(known)
    mean, known = ours.models_mean, reference["llm_mean"]
    assert (mean.mean, mean.sd) == pytest.approx((known["mean"], known["sd_ddof1"]), rel=1e-9)
    assert mean.sem == pytest.approx(known["sem"], rel=1e-9)


def test_the_two_tests_of_models_are_the_published_files(ours, reference):
    for found, source in (
        (ours.models_vs_humans.test, "llm_vs_human_paired_t"),
        (ours.base_vs_chat.test, "base_vs_chat_paired_t"),
    ):
        same_test(found, reference[source])
    pairs = [[pair.base, pair.chat] for pair in ours.base_vs_chat.pairs]
    assert pairs == reference["base_vs_chat_paired_t"]["pairs"]
    # The paper's printed 25.8 needs the mean of the items' means
    assert ours.models_vs_humans.t_item_means == pytest.approx(25.8052, abs=5e-5)


def test_ties_are_wrong_and_near_ties_named(small):
    full = small.full.copy()
    row = full.index[(full["model"] == 0) & (full["item"] == 4)]
    full.loc[row, "ppl_altered"] = full.loc[row, "ppl_original"]
    full.loc[row, ["is_tie", "is_near_tie", "is_correct"]] = [True, True, False]
    found = accuracy(replace(small, full=full)).models[0]
    assert found.n_ties == 1
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


# --- Subfields and positions: the published values and their order.


def test_subfields_are_as_published(published, reference):
    found = results_of(published, SUBFIELDS).of(Subfields).subfields
    assert {one.subfield for one in found} == set(reference["subfields"])
    for one in found:
        known = reference["subfields"][one.subfield]
        humans, top, mean = one.humans, one.top_expertise, one.models_mean
        theirs = known["human_top20_within_subfield"]
        assert (one.n_items, one.share_items) == (known["n_items"], known["proportion"])
        assert (humans.n, top.trials.n) == (known["human"]["n_trials"], theirs["n_trials"])
        assert top.threshold == pytest.approx(theirs["threshold"], rel=1e-9)
        for share, expected in ((humans, known["human"]), (top.trials, theirs)):
            pair = (share.accuracy, share.sem)
            assert pair == pytest.approx((expected["accuracy"], expected["sem"]), rel=1e-9)
        assert mean.over_models.mean == pytest.approx(known["llm_mean"], rel=1e-9)
        assert mean.sd_ddof0 == pytest.approx(known["llm_sd_ddof0"], rel=1e-9)
        assert one.n_models_below_humans == len(known["llm_below_human"])
        for model in one.models:
            expected = known["llm"][model.name]["accuracy"]
            assert model.share.accuracy == pytest.approx(expected, rel=1e-9)


def test_positions_are_as_published_in_the_questionnaires_order(published, reference):
    found = results_of(published, POSITIONS).of(Positions).positions
    assert [one.position for one in found] == list(published.position_order)
    for one in found:
        known = reference["positions"][one.position]
        assert (one.trials.n, one.n_participants) == (known["n_trials"], known["n_participants"])
        expected = (known["accuracy"], known["sem"])
        assert (one.trials.accuracy, one.trials.sem) == pytest.approx(expected, rel=1e-9)


def test_positions_that_are_not_stated_come_last_and_unlisted_ones_after_the_listed(small):
    careers = small.participants["career"].to_numpy(dtype=object).copy()
    careers[0], careers[1] = "", "Clinician"
    people = small.participants.assign(career=careers)
    found = results_of(replace(small, participants=people), POSITIONS).of(Positions).positions
    names = [one.position for one in found]
    assert names == [*small.position_order, "Clinician", "not stated"]
    assert sum(one.trials.n for one in found) == len(small.trials)


# --- The chapters about accuracy when something is missing, and what must not change them.


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
