"""Trials and scores become the evidence of members; the usual ones, and all their teams."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.stats import NotEnough
from analysis.teams.domain.evidence import gather
from analysis.teams.domain.trying import panel, subsets
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.made import make_data
from tests.analysis.teams.domain.simulated import make_evidence


@pytest.fixture(scope="module")
def data():
    return make_data(n_items=20, n_participants=30, trials_each=6, seed=3)


def test_a_member_is_right_where_its_own_decision_is(data):
    evidence = gather(data, [0, 2]).evidence
    items = data.trials["item"].to_numpy()
    right = data.trials["is_correct"].to_numpy()
    assert np.array_equal(evidence.points[:, 0], right)
    for column, model in ((1, 0), (2, 2)):
        full = data.full[data.full["model"] == model].set_index("item")
        assert np.array_equal(evidence.points[:, column], full.loc[items, "points"])


def test_confidence_is_signed_by_the_side_that_was_chosen(data):
    evidence, trials = gather(data, [1]).evidence, data.trials
    assert np.array_equal(evidence.signed[:, 0] > 0, trials["side"] == "B")
    assert np.array_equal(np.abs(evidence.signed[:, 0]), trials["confidence"])
    assert np.array_equal(evidence.truth > 0, trials["original_side"] == "B")
    # A model's is log PPL(A) - log PPL(B) of the sides that this participant saw
    full = data.full[data.full["model"] == 1].set_index("item").loc[trials["item"]]
    difference = (full["ppl_altered"] - full["ppl_original"]).to_numpy()
    nats = np.log(full["ppl_altered"].to_numpy()) - np.log(full["ppl_original"].to_numpy())
    assert evidence.signed[:, 1] == pytest.approx(evidence.truth * nats)
    assert evidence.as_published[:, 1] == pytest.approx(evidence.truth * difference)
    assert np.array_equal(evidence.as_published[:, 0], evidence.signed[:, 0])


def test_a_model_that_was_asked_is_a_member_by_its_log_odds(data):
    asked = with_asked(data, (0, answers_of(40 * data.difficulty_nats[0], samples=5)))
    evidence, items = gather(asked, [0, 4]).evidence, data.trials["item"].to_numpy()
    assert evidence.names[1:] == ("org/model-0", "org/model-0 (asked)")
    margins = asked.difficulty_nats[4][items]
    assert evidence.towards_truth[:, 2] == pytest.approx(margins)
    assert np.array_equal(evidence.as_published[:, 2], evidence.signed[:, 2])
    assert np.array_equal(evidence.points[:, 2], asked.model_correct[4][items])


def test_where_no_side_was_shown_the_sides_of_the_scores_count(data):
    trials = data.trials.assign(side="", original_side="")
    side = np.where(np.arange(data.n_items) % 3 == 0, "A", "B")
    full = data.full.assign(original_side=side[data.full["item"]])
    changed = replace(data, trials=trials, full=full)
    truth = gather(changed, [0]).evidence.truth
    assert np.array_equal(truth > 0, side[trials["item"]] == "B")


def test_an_empty_rating_counts_as_the_median_of_the_recorded_ones(data):
    trials = data.trials.copy()
    trials.loc[[0, 5], "confidence"] = np.nan
    changed = replace(data, trials=trials)
    gathered = gather(changed, [])
    median = trials["confidence"].median()
    assert (gathered.n_empty, gathered.median) == (2, median)
    assert np.abs(gathered.evidence.signed[[0, 5], 0]).tolist() == [median, median]
    # Nobody rated anything: choices alone are left
    changed = replace(data, trials=trials.assign(confidence=np.nan))
    assert np.unique(np.abs(gather(changed, []).evidence.signed)).tolist() == [50.0]


def test_several_humans_are_different_participants_on_the_same_item(data):
    evidence = gather(data, [0], n_humans=3).evidence
    assert evidence.names[:3] == ("human", "human-2", "human-3")
    own = data.trials["item"].to_numpy()[evidence.trial]
    assert (own == evidence.item[:, None]).all()
    for row in evidence.participant:
        assert len(set(row)) == 3
    # Each judgment of an item with enough of them is once the first, once the second, once the third
    counts = np.bincount(data.trials["item"], minlength=20)
    enough = np.flatnonzero(counts[data.trials["item"]] >= 3)
    for column in evidence.trial.T:
        assert sorted(column) == enough.tolist()


def test_items_that_a_model_did_not_score_are_left_out_for_all(data):
    full = data.full[~((data.full["model"] == 1) & data.full["item"].isin((3, 7)))]
    changed = replace(data, full=full)
    gathered = gather(changed, [0, 1])
    assert not set(gathered.evidence.item) & {3, 7}
    judged = set(data.trials["item"])
    assert gathered.missing == {"org/model-0": 0, "org/model-1": len({3, 7} & judged)}
    left_out = data.trials["item"].isin((3, 7)).sum()
    assert gathered.n_rows - len(gathered.evidence) == left_out


def test_without_trials_each_item_is_a_row(data):
    changed = replace(data, trials=data.trials.iloc[:0])
    evidence = gather(changed, [0, 1], n_humans=0).evidence
    assert (len(evidence), evidence.participant.shape) == (20, (20, 0))
    with pytest.raises(NotEnough, match="any trials yet"):
        gather(changed, [0], n_humans=1)


def test_nothing_in_common_says_so(data):
    full = data.full[data.full["model"] != 1]
    changed = replace(data, full=full)
    with pytest.raises(NotEnough, match="no test case that all members"):
        gather(changed, [0, 1])
    with pytest.raises(NotEnough, match="At least 9 participants"):
        gather(make_data(n_items=20, n_participants=2, trials_each=4), [0], n_humans=9)


@pytest.mark.parametrize("up_to", [1, 2, 5, 9])
def test_subsets_are_all_teams_up_to_a_size_small_ones_first(up_to):
    names = tuple("abcde")
    everything = [
        team
        for number in range(1, 32)
        if len(team := tuple(x for k, x in enumerate(names) if number >> k & 1)) <= up_to
    ]
    found = list(subsets(names, up_to))
    assert sorted(found) == sorted(everything)
    assert found == sorted(found, key=lambda team: (len(team), team))


def test_the_panel_is_a_human_and_the_three_most_accurate_models():
    evidence = make_evidence(models=(0.2, 1.2, 0.1, 0.8, 1.5), n_humans=2, n_items=150)
    assert panel(evidence) == ("human", "org/model-1", "org/model-3", "org/model-4")
    assert panel(evidence, most=2) == ("human", "org/model-4")
    models = evidence.of(evidence.names[2:])
    same = replace(models, signed=models.signed[:, [0, 0, 0, 0, 4]])
    assert panel(same) == ("org/model-0", "org/model-1", "org/model-4")
