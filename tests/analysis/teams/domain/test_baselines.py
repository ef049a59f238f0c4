"""The simple ways beside plain loops and scikit-learn; the published teams beside reference numbers."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from analysis.teams.domain.combination import (
    AverageProbability,
    Majority,
    MostConfident,
    calibrated,
)
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import by_item, by_item_and_participant
from analysis.teams.domain.runs import ALONE, METHODS
from tests.analysis.teams.domain.conftest import LLAMA_2_CHAT
from tests.analysis.teams.domain.simulated import make_evidence

BASELINES = (Majority(), MostConfident(), AverageProbability())


def small(**changes) -> Evidence:
    return make_evidence(**{"n_items": 24, "per_item": 3, "n_participants": 12, "models": (0.8, 0.3), **changes})  # fmt: skip


def test_a_person_is_calibrated_as_by_penalised_regression_of_being_right_on_its_rating():
    evidence = small(models=())
    folds = by_item_and_participant(evidence)
    found = calibrated(evidence, folds)[:, 0]
    towards = evidence.towards_truth[:, 0]
    rating = np.abs(towards)
    design = np.column_stack([np.ones(len(towards)), (rating - rating.mean()) / rating.std()])
    for fold in (0, 7, folds.n - 1):
        train, held = folds.train(fold), folds.fold == fold
        fit = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10).fit(
            design[train], towards[train] > 0
        )
        right = np.maximum(fit.predict_proba(design[held])[:, 1], 0.5)
        expected = np.where(towards[held] > 0, right, 1 - right)
        assert found[held] == pytest.approx(expected, abs=2e-3 if right.min() == 0.5 else 1e-6)


def test_a_model_is_calibrated_as_by_penalised_regression_of_the_side_on_its_evidence():
    evidence = small(models=(1.2,))
    folds = by_item(evidence)
    x = evidence.signed[:, [1]] / np.sqrt((evidence.signed[:, 1] ** 2).mean())
    found = calibrated(evidence, folds)[:, 1]
    for fold in (0, 11):
        train, held = folds.train(fold), folds.fold == fold
        fit = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10).fit(
            x[train], evidence.truth[train] > 0
        )
        expected = fit.predict_proba(x[held])[np.arange(3), (evidence.truth[held] > 0).astype(int)]
        assert found[held] == pytest.approx(expected, abs=1e-3)


def test_each_baseline_decides_as_a_plain_loop_does():
    evidence = small(n_humans=2)
    folds = by_item(evidence)
    each, votes = calibrated(evidence, folds), np.sign(evidence.towards_truth)
    expected = {"majority": [], "most-confident": [], "average": []}
    for p, vote in zip(each, votes, strict=True):
        lead, surest = vote.sum(), max(p, key=lambda one: abs(one - 0.5))
        expected["majority"].append(lead > 0 or (lead == 0 and np.mean(p) > 0.5))
        expected["most-confident"].append(surest > 0.5)
        expected["average"].append(np.mean(p) > 0.5)
    assert (votes.sum(axis=1) == 0).any()
    for method in BASELINES:
        held = method.held_out(evidence, folds)
        assert held.points.tolist() == expected[method.name]
        ties = votes.sum(axis=1) == 0
        if method.name == "majority":
            assert held.p_original[ties] == pytest.approx(each[ties].mean(axis=1))
            assert len(np.unique(held.p_original[votes.sum(axis=1) == 4])) <= folds.n
    average = AverageProbability().held_out(evidence, folds).p_original
    assert average == pytest.approx(each.mean(axis=1))


@pytest.mark.parametrize("method", BASELINES, ids=lambda m: m.name)
def test_a_member_without_confidence_has_no_vote(method):
    evidence = small(models=(0.8, 0.3, 0.5))
    silent = replace(evidence, signed=evidence.signed * np.array([1.0, 1.0, 1.0, 0.0]))
    names = evidence.names[:3]
    with_it, without = (method.held_out(e, by_item(e)) for e in (silent, silent.of(names)))
    assert (with_it.points == without.points).all()


NAMES = ("human", *LLAMA_2_CHAT)
SHORT = dict(zip(NAMES, ("Human", "7B", "13B", "70B"), strict=True))
TEAMS = [team for size in range(1, 5) for team in combinations(NAMES, size)]


@pytest.mark.shared
@pytest.mark.parametrize("team", TEAMS, ids=lambda team: "+".join(SHORT[m] for m in team))
def test_each_published_team_gets_the_reference_number_of_trials_right(
    team, published_evidence, reference
):
    rows = reference["haico_logistic_on_human_items"]
    name = "+".join(SHORT[m] for m in team)
    known, sklearn = (
        next(row for row in rows[way] if row["team"] == name) for way in ("exact_newton", "sklearn")
    )
    evidence = published_evidence.of(team)
    held = (ALONE if len(team) == 1 else METHODS["as-published"]).held_out(
        evidence, by_item(evidence)
    )
    assert len(evidence) == known["n_trials"]
    assert held.points.sum() == known["n_correct"] == sklearn["n_correct"]
    if len(team) > 1:
        assert -np.log(held.p_original).mean() == pytest.approx(known["cv_logloss"], abs=1e-9)
        # The reference signs PPL(B) - PPL(A)
        human = 1 if "human" in team else 0
        theirs = np.array(known["mean_fold_weights_intercept_then_features"])
        theirs[1 + human :] *= -1
        ours = [held.about.intercept, *held.about.weights]
        assert ours == pytest.approx(theirs, abs=1e-7)
