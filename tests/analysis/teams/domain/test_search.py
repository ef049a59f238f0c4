"""Teams are tried up to a stated size, or grown by a rule that an honest estimate goes with."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest

from analysis.stats import NotEnough
from analysis.teams.domain.folds import in_blocks
from analysis.teams.domain.methods import METHODS
from analysis.teams.domain.search import greedy, greedy_nested, panel, subsets
from analysis.teams.results import Method
from tests.analysis.teams.domain.simulated import make_evidence, saying

LOGISTIC = METHODS["logistic"]


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


def loss_of(evidence, team, folds):
    return -np.log(LOGISTIC.held_out(evidence.of(team), folds).p_original).mean()


def test_greedy_adds_the_member_that_helps_most_until_none_does():
    """Beside a search written as plainly as can be."""
    evidence = make_evidence(models=(0.9, 0.2, 0.7, 0.0), rho_models=0.3, n_items=80, seed=2)
    folds = in_blocks(evidence, 10)
    steps = greedy(evidence, LOGISTIC, folds)
    team, best = (), np.inf
    for step in steps:
        losses = {
            name: loss_of(evidence, (*team, name), folds)
            for name in evidence.names
            if name not in team
        }
        added = min(losses, key=losses.get)
        assert (step.added, step.log_loss_nats) == (added, pytest.approx(losses[added]))
        assert losses[added] < best
        team, best = (*team, added), losses[added]
        assert set(step.team.names) == set(team)
        assert (step.n, step.accuracy) == (len(evidence), step.n_correct / step.n)
    left = [name for name in evidence.names if name not in team]
    assert all(loss_of(evidence, (*team, name), folds) >= best for name in left)
    assert greedy(evidence, LOGISTIC, folds, most=1) == steps[:1]


def test_a_second_human_is_tried_only_after_the_first():
    """Who is first means nothing, so the second by itself is the same member."""
    evidence = make_evidence(n_humans=2, models=(0.1,), d_human=1.0, n_items=60)
    steps = greedy(evidence, LOGISTIC, in_blocks(evidence, 10))
    added = [step.added for step in steps]
    assert added[:2] == ["human", "human-2"]


def test_choosing_among_members_that_know_nothing_flatters_greedy_but_not_its_nested_form():
    evidence = make_evidence(models=(0.0,) * 25, d_human=0.0, n_items=60, scale=5.0, seed=5)
    evidence = evidence.of(evidence.names[1:])
    folds = in_blocks(evidence, 10)
    chosen = greedy(evidence, LOGISTIC, folds)[-1]
    honest = greedy_nested(evidence, LOGISTIC, folds)
    loss = -np.log(honest.held.p_original).mean()
    assert chosen.log_loss_nats < np.log(2) < loss
    # 60 items: two standard errors
    assert abs(honest.held.is_right.mean() - 0.5) < 2 * np.sqrt(0.25 / 60)
    assert sum(honest.chosen.values()) == sum(map(len, honest.teams))
    assert len(honest.teams) == folds.n


def test_what_is_held_out_has_no_part_in_the_choice_that_predicts_it():
    evidence = make_evidence(models=(0.6, 0.5, 0.4), n_items=40, seed=4)
    folds = in_blocks(evidence, 5)
    held = folds.fold == 2
    turned = replace(evidence, truth=np.where(held, -evidence.truth, evidence.truth))
    before, after = (greedy_nested(e, LOGISTIC, folds) for e in (evidence, turned))
    assert before.teams[2] == after.teams[2]
    np.testing.assert_allclose(after.held.p_original[held], 1 - before.held.p_original[held])


def test_the_panel_is_a_human_and_the_three_most_accurate_models():
    evidence = make_evidence(models=(0.2, 1.2, 0.1, 0.8, 1.5), n_humans=2, n_items=150)
    assert panel(evidence) == ("human", "org/model-1", "org/model-3", "org/model-4")
    assert panel(evidence, most=2) == ("human", "org/model-4")
    models = evidence.of(evidence.names[2:])
    same = replace(models, signed=models.signed[:, [0, 0, 0, 0, 4]])
    assert panel(same) == ("org/model-0", "org/model-1", "org/model-4")


class Fussy:
    """Combines at most two, and never the first model."""

    name = Method.AVERAGE

    def held_out(self, evidence, folds):
        if len(evidence.members) > 2 or "org/model-0" in evidence.names:
            raise NotEnough("Too many.", "Fewer are needed.")
        return saying(np.full(len(evidence), 0.5 + 0.1 * len(evidence.members)))


def test_teams_that_cannot_be_fitted_are_passed_over_with_a_reason_if_none_can():
    evidence = make_evidence(models=(0.5, 0.5), n_items=20)
    folds = in_blocks(evidence, 5)
    assert [s.added for s in greedy(evidence, Fussy(), folds)] == ["human", "org/model-1"]
    with pytest.raises(NotEnough, match="Too many"):
        greedy(evidence.of(("org/model-0",)), Fussy(), folds)


def test_greedy_over_all_teams_of_a_size_finds_none_better_where_members_are_independent():
    evidence = make_evidence(models=(1.2, 0.9, 0.3), rho=0.0, rho_models=0.0, n_items=150, seed=7)
    folds = in_blocks(evidence, 10)
    pairs = chain(combinations(evidence.names, 2))
    losses = {pair: loss_of(evidence, pair, folds) for pair in pairs}
    assert greedy(evidence, LOGISTIC, folds)[1].team.names == min(losses, key=losses.get)
