"""Chosen teams on a study's data: who is meant, which teams are tried, and what comes out."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import from_json, to_json
from analysis.data.filters import UnknownChoiceError
from analysis.stats import NotEnough
from analysis.teams.domain.runs import METHODS
from analysis.teams.domain.trying import chosen_members, try_teams, wanted_teams
from analysis.teams.options import METHODS as OFFERED
from analysis.teams.options import TeamOptions
from analysis.teams.results import Method, TriedTeams
from tests.analysis.made import make_data


@pytest.fixture(scope="module")
def data():
    return make_data(
        n_items=24, n_participants=40, n_models=5, trials_each=6, seed=5, resamples=200
    )


def tried(data, *members, **options):
    return try_teams(data, TeamOptions(members=members, resamples=200, **options), lambda _: None)


def test_the_offered_methods_are_those_there_are():
    assert tuple(METHODS) == OFFERED


def test_members_are_found_by_a_unique_part_of_their_name(data):
    assert chosen_members(data, ("human", "model-2", "Model 0")) == (1, [2, 0])
    assert chosen_members(data, ("Human", "human", "org/model-1")) == (2, [1])
    for asked, said in (
        (("human", "model"), r"several names: org/model-0 \(Model 0\), org/model-1"),
        (("gpt-9",), "not a language model of this study. Choose from human, org/model-0"),
        (("model-2", "Model 2"), "chosen twice"),
    ):
        with pytest.raises(UnknownChoiceError, match=said):
            chosen_members(data, asked)


def test_without_a_choice_one_human_joins_the_three_most_accurate_models(data):
    n_humans, models = chosen_members(data, ())
    right = {m: np.nansum(data.model_correct[m][data.trials["item"]]) for m in data.set_models}
    best = sorted(right, key=lambda m: -right[m])[:3]
    assert (n_humans, set(models)) == (1, set(best))


def test_all_subsets_tries_people_as_one_kind():
    names = ("human", "human-2", "a", "b")
    teams, shortened = wanted_teams(names, 2, TeamOptions(all_subsets=True))
    assert teams == [
        ("human",), ("a",), ("b",),
        ("human", "human-2"), ("human", "a"), ("human", "b"), ("a", "b"),
        ("human", "human-2", "a"), ("human", "human-2", "b"), ("human", "a", "b"),
        ("human", "human-2", "a", "b"),
    ]  # fmt: skip
    assert shortened == ""
    some, _ = wanted_teams(names, 2, TeamOptions(all_subsets=True, up_to=2))
    assert some == teams[:7]
    alone, _ = wanted_teams(names, 2, TeamOptions())
    assert alone == [("human",), ("a",), ("b",), ("human", "a", "b"), names]


def test_too_many_teams_are_cut_to_a_size_and_the_whole_team_stays():
    names = ("human", *(f"m{n}" for n in range(29)))
    teams, shortened = wanted_teams(names, 1, TeamOptions(all_subsets=True))
    assert len(teams) == 30 + 30 * 29 // 2 + 2
    # With what one person more brings to the others
    assert teams[-2:] == [names[1:], names]
    assert "1,073,741,823 teams" in shortened
    assert "at most 2 members" in shortened


def test_values_hold_each_team_the_gain_of_a_human_and_what_was_left_out(data):
    full = data.full[~((data.full["model"] == 1) & (data.full["item"] == data.trials["item"][0]))]
    lacking = replace(data, full=full)
    found, tables = tried(lacking, "human", "model-0", "model-1", all_subsets=True)
    lost = int((data.trials["item"] == data.trials["item"][0]).sum())
    assert found.n_left_out == lost
    assert found.n_trials == len(data.trials) - lost
    assert found.teams[-1].team.names == ("human", "org/model-0", "org/model-1")
    by_team = {row.team: row for row in found.teams}
    assert {row.larger_team for row in found.adding_human} == {
        team for team in by_team if len(team) > 1 and team.humans
    }
    for row in found.adding_human:
        assert row.with_human == row.larger_team.label
        gain = by_team[row.larger_team].accuracy - by_team[row.team].accuracy
        assert row.gain.value == pytest.approx(gain)
        assert row.gain.p <= row.p_holm <= 1
    assert from_json(TriedTeams, to_json(found)) == found
    predictions = tables["predictions"]
    assert len(predictions) == 7 * found.n_trials
    by_label = {row.team.label: row for row in found.teams}
    for name, own in predictions.groupby("team"):
        assert (own["points"] == 1).sum() == by_label[name].n_correct
        assert -np.log(own["p_original"]).mean() == pytest.approx(by_label[name].log_loss_nats)
        b = own["original_side"] == "B"
        assert np.where(b, own["p_b"], 1 - own["p_b"]) == pytest.approx(own["p_original"])
    # A test case is held out with all its trials
    assert (predictions.groupby(["team", "item"])["fold"].nunique() == 1).all()


@pytest.mark.parametrize("method", sorted({*OFFERED} - {"bayesian"}))
def test_methods_predict_new_participants_too(data, method):
    found, _ = tried(data, "human", "model-0", method=method, out_of="participant")
    # Each fold of `logistic` is a search of its own: it has fewer
    items, people = (5, 4) if method == "logistic" else (10, 10)
    assert f"test cases in {items} and participants in {people} random blocks" in found.folds
    assert [row.method for row in found.teams] == [Method.ALONE, Method.ALONE, method]


def test_a_study_without_people_makes_teams_of_models(data):
    no_people = replace(data, trials=data.trials.iloc[:0])
    found, _ = tried(no_people, "model-0", "model-2", all_subsets=True)
    assert (found.n_trials, found.n_participants) == (24, 0)
    assert found.policies == found.adding_human == ()
    with pytest.raises(NotEnough, match="any trials yet"):
        tried(no_people, "human", "model-0")


def test_an_exact_name_is_meant_though_it_is_part_of_another(data):
    names = [f"lab/m{n}" for n in range(5)]
    shown = ["Falcon-180B (chat)", "Falcon-180B", "Llama", "Llama", "Falcon"]
    named = replace(data, models=data.models.assign(name=names, display_name=shown))
    assert chosen_members(named, ("falcon-180b", "Falcon")) == (0, [1, 4])
    for asked, said in ((("llama",), "several names"), (("human",) * 10, "10 humans are too many")):
        with pytest.raises(UnknownChoiceError, match=said):
            chosen_members(named, asked)


def test_the_family_of_gains_is_the_teams_that_were_asked_for(data):
    """One whole team is compared with its best member and without the person; every subset is a family of all of them."""
    members = ("human", "org/model-1", "org/model-2")
    one, _ = tried(data, *members)
    by_size = {len(row.team): row for row in one.teams}
    n_policies = sum(row.gain_p is not None for row in one.policies_chosen)
    assert by_size[3].gain_tests == 2 + n_policies
    # A loss, against the best of three members
    assert by_size[3].gain < 0
    assert by_size[3].gain_p_holm >= min(1.0, 3 * by_size[3].gain_p)
    # The same team without the person shows what the person adds
    assert by_size[2].gain is not None
    assert (by_size[2].gain_p_holm, by_size[2].gain_tests, by_size[2].gain_verdict) == (None,) * 3
    assert "1 team against their best member" in one.multiplicity
    every, _ = tried(data, *members, all_subsets=True)
    # Each of four with its best member, three of them without the person
    compared = {(row.team.names, (row.best_member,)) for row in every.teams if row.gain is not None}
    compared |= {(row.larger_team.names, row.team.names) for row in every.adding_human}
    n_policies = sum(row.gain_p is not None for row in every.policies_chosen)
    n_tests = len(compared) + n_policies
    assert {row.gain_tests for row in every.teams if row.gain is not None} == {n_tests}
    assert {row.n_tests for row in every.adding_human} == {n_tests}
