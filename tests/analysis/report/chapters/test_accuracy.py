"""Accuracy: the published values, and what happens where models or trials are few."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.codec import MissingResult, to_json
from analysis.report.chapters.accuracy.results import Accuracy, build_accuracy
from analysis.report.contents import chapter_named
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import results_of

CHAPTER = chapter_named("accuracy")


def accuracy(data):
    return results_of(data, CHAPTER).of(Accuracy)


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
        known = reference[source]
        assert (found.n, found.df) == (known["n"], known["dof"])
        names = {"t": "t", "p": "p_two_sided", "d_av": "cohen_d_pingouin_dav", "d_z": "cohen_dz"}
        names |= {"mean_difference": "mean_diff", "sd_difference": "sd_diff", "ci95": "ci95"}
        for name, theirs in names.items():
            assert getattr(found, name) == pytest.approx(known[theirs], rel=1e-9)
    pairs = [[pair.base, pair.chat] for pair in ours.base_vs_chat.pairs]
    assert pairs == reference["base_vs_chat_paired_t"]["pairs"]
    # The paper's printed 25.8 needs the mean of the items' means
    assert ours.models_vs_humans.t_item_means == pytest.approx(25.8052, abs=5e-5)


def test_one_model_has_an_accuracy_and_no_test(small):
    found = accuracy(replace(small, full=small.full[small.full["model"] == 1]))
    assert [m.name for m in found.models] == ["org/model-1"]
    assert (found.models_mean.n, found.models_mean.ci95) == (1, None)
    assert isinstance(found.models_vs_humans, MissingResult)
    assert isinstance(found.base_vs_chat, MissingResult)


def test_one_pair_of_models_is_shown_though_it_cannot_be_tested(small):
    found = accuracy(small).base_vs_chat
    assert [pair.chat for pair in found.pairs] == ["org/model-1"]
    assert isinstance(found.test, MissingResult)


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


def test_people_of_known_ability_are_found_at_it():
    data = make_data(
        n_participants=3000, sd_participants=0.0, sd_items=0.0, intercept=0.6, confidence_slope=1.0
    )
    level = np.arange(1, 101)
    truth = (1 / (1 + np.exp(-0.6 - (level - 50.5) / 28.87))).mean()
    low, high = accuracy(data).humans.trials.ci95
    assert low < truth < high


def test_tables_are_tidy_and_hold_the_values_at_full_precision(small):
    made = build_accuracy(small)
    table, models = made.tables["models"], made.results.models + made.results.extra_models
    assert table["accuracy"].tolist() == [m.items.accuracy for m in models]
    assert table["in_set"].tolist() == [True, True, True, False]
    assert table["ci_low"].tolist() == [m.items.ci95[0] for m in models]
    assert made.tables["humans_items"]["n_trials"].sum() == len(small.trials)
