"""The choice of the one who decides, where answers are choices and where they are written."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.teams.domain.deferral import (
    Judges,
    choose_threshold,
    deferring,
    policies,
    who_decides,
)
from analysis.teams.domain.folds import Draws, by_item, in_blocks
from analysis.teams.domain.logistic import coarser
from analysis.teams.domain.runs import Runs
from analysis.teams.results import Method, Policy
from lib.points import points
from tests.analysis.teams.domain.simulated import held_out_of, make_evidence


def made(seed=1, n_items=40, per_item=4):
    """Evidence, probabilities of a model that are alike on an item, and of a team; a person each trial."""
    evidence = make_evidence(n_items=n_items, per_item=per_item, seed=seed).of(["human", "org/model-0"])  # fmt: skip
    rng = np.random.default_rng(seed)
    # Rounded, so that some items are equally certain
    p_model = np.round(rng.beta(3, 2, n_items), 1).clip(0.05, 0.95)[evidence.item]
    team = (rng.random(len(evidence)) < 0.8).astype(float)
    human = evidence.points[:, 0]
    judges = Judges(p_model, points(p_model - 0.5), {Policy.HUMAN: human, Policy.TEAM: team})
    return evidence, judges


def test_the_least_certain_items_are_asked_each_with_all_its_trials_in_the_order_of_items():
    evidence, judges = made()
    p = judges.p_model
    items = sorted(range(40), key=lambda i: (max(p[4 * i], 1 - p[4 * i]).round(9), i))
    for share, asked in who_decides(evidence.item, judges):
        assert (asked.where == np.isin(evidence.item, items[: round(share * 40)])).all()
        other = judges.others[asked.policy]
        assert (asked.points == np.where(asked.where, other, points(p - 0.5))).all()
        sure = np.maximum(p, 1 - p)
        assert sure[asked.where].max(initial=0.5) <= asked.threshold + 1e-9
        assert asked.threshold <= sure[~asked.where].min(initial=1.0) + 1e-9


def test_asking_at_random_is_what_random_trials_bring_on_average():
    evidence, judges = made()
    _, asked = who_decides(evidence.item, judges)[6]
    rng, n, drawn = np.random.default_rng(7), len(evidence), []
    for _ in range(3000):
        where = np.zeros(n, dtype=bool)
        where[rng.choice(n, asked.where.sum(), replace=False)] = True
        drawn.append(judges.asked(Policy.HUMAN, 0.5, where).accuracy)
    off = np.mean(drawn) - judges.random_accuracy(asked)
    assert abs(off) < 4 * np.std(drawn) / np.sqrt(3000)


@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_threshold_is_the_best_of_training_tried_on_what_was_held_out(seed):
    evidence, judges = made(seed)
    folds = in_blocks(evidence, 5, seed=seed)
    sure, model = np.maximum(judges.p_model, 1 - judges.p_model), judges.model
    for found in choose_threshold(folds, judges):
        other = judges.others[found.policy]
        earned = np.empty(len(evidence))
        for fold in range(5):
            train, held = folds.train(fold), folds.fold == fold
            best = max(
                [0.5, *(np.unique(sure[train]) + 1e-6)],
                key=lambda t: (
                    np.where(sure < t, other, model)[train].sum(),
                    -(sure < t)[train].sum(),
                ),
            )
            earned[held] = np.where(sure < best, other, model)[held]
        assert (found.points == earned).all()


def test_held_out_truths_have_no_part_in_the_choice_of_trials_to_ask_about():
    evidence, judges = made()
    folds = in_blocks(evidence, 5)
    held = folds.fold == 2
    human = judges.others[Policy.HUMAN]
    turned = replace(judges, others={Policy.HUMAN: np.where(held, 1 - human, human)})
    one, two = (choose_threshold(folds, j)[0] for j in (judges, turned))
    assert (one.where[held] == two.where[held]).all()
    # Single items are held out in blocks
    each = choose_threshold(by_item(evidence), judges)[0]
    merged = choose_threshold(coarser(by_item(evidence)), judges)[0]
    assert (each.where == merged.where).all()


def test_a_model_that_knows_when_it_does_not_know_gains_from_asking_just_there():
    rng = np.random.default_rng(3)
    evidence = make_evidence(n_items=200, per_item=3)
    unsure = (np.arange(200) < 60)[evidence.item]
    sign = rng.choice([-1.0, 1.0], 200)[evidence.item]
    p_model = np.where(unsure, 0.5 + 0.05 * sign, 0.9)
    human = rng.random(len(evidence)) < 0.8
    judges = Judges(p_model, points(p_model - 0.5), {Policy.HUMAN: human.astype(float)})
    found = choose_threshold(by_item(evidence), judges)[0]
    assert found.share == pytest.approx(0.3)
    assert found.threshold == pytest.approx((0.55 + 0.9) / 2)
    assert found.accuracy == pytest.approx(0.7 + 0.3 * human[unsure].mean())
    curve = [asked for _, asked in who_decides(evidence.item, judges)]
    assert np.argmax([asked.accuracy for asked in curve]) == 6  # 30% asked
    assert all(asked.accuracy >= judges.random_accuracy(asked) - 1e-12 for asked in curve)


def test_nobody_is_asked_about_a_model_that_is_always_right_though_it_is_never_certain():
    """A certainty of .5 is not below the threshold of .5 that asks nobody."""
    evidence = make_evidence(n_items=10, per_item=2)
    n = len(evidence)
    wrong = {Policy.HUMAN: np.zeros(n)}
    judges = Judges(np.full(n, 0.5), np.ones(n), wrong)
    found = choose_threshold(by_item(evidence), judges)[0]
    assert (found.threshold, found.share, found.accuracy) == (0.5, 0, 1)


def test_a_team_decides_as_it_says_it_did():
    evidence, judges = made()
    folds, model = by_item(evidence), ("org/model-0",)
    team = judges.others[Policy.TEAM]
    # Probabilities of 1/2, as of Bayesian teams, do not show the choice
    held = {
        (evidence.names, Method.BAYESIAN): held_out_of(np.full(len(team), 0.5), team),
        (model, Method.ALONE): held_out_of(judges.p_model, evidence.points[:, 1]),
    }
    draws = Draws.of(evidence, resamples=100)
    found, other = (
        policies(Runs(evidence, folds, replace(draws, seed=seed), held), Method.BAYESIAN)
        for seed in (42, 7)
    )
    assert found.points[-1].n_correct == team.sum()
    assert [row.policy for row in found.chosen] == [Policy.HUMAN, Policy.TEAM]
    for row in found.chosen:
        low, high = row.accuracy_ci95
        assert low <= row.accuracy <= high
        assert row.folds == coarser(folds).words
    assert coarser(folds).words in found.method
    assert {row.folds for row in other.chosen} == {coarser(folds, 7).words}
    no_one = policies(Runs(evidence.of(model), folds, draws), Method.BAYESIAN)
    assert no_one.points == no_one.chosen == ()


def test_an_invalid_confidence_is_refused():
    for wrong in (1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match="confidence"):
            deferring([wrong], [True], [True])
