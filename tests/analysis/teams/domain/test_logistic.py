"""The logistic combination: scipy and scikit-learn as oracles, known differences between people."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from analysis.teams.domain import logistic
from analysis.teams.domain.folds import by_item, by_item_and_participant, in_blocks
from analysis.teams.domain.logistic import Logistic, Rows, coarser, fit
from tests.analysis.teams.domain.simulated import make_evidence


@pytest.mark.parametrize("joined", [1, 2])
def test_people_s_weights_minimise_the_penalised_loss(joined):
    rng, n, k, n_people = np.random.default_rng(joined), 80, 3, 9
    features, times = rng.normal(0.3, 1, (n, k)), rng.integers(1, 4, n).astype(float)
    who = np.array([rng.choice(n_people, joined, replace=False) for _ in range(n)])
    choice = rng.choice([-1.0, 0.0, 1.0], (n, joined), p=[0.4, 0.1, 0.5])
    dense = np.zeros((n, n_people))
    np.put_along_axis(dense, who, choice, axis=1)
    penalties = np.array([[10.0, 1e6], [0.1, 0.5], [1.0, 3.0]])
    found = fit(Rows(features, who, choice, times, n_people), penalties)
    design = np.column_stack([features, dense])
    for beta, own, (weight, person) in zip(found.beta, found.own, penalties, strict=True):
        each = np.r_[np.full(k, weight), np.full(n_people, person)]

        def loss(x, each=each):
            return times @ np.logaddexp(0, -design @ x) + 0.5 * each @ x**2

        best = optimize.minimize(loss, np.zeros(k + n_people), method="BFGS", options={"gtol": 1e-7})  # fmt: skip
        assert loss(np.r_[beta, own]) <= best.fun + 1e-7
        assert np.r_[beta, own] == pytest.approx(best.x, abs=1e-3)


def test_penalties_are_chosen_on_whole_participants_where_trials_are_many(monkeypatch):
    monkeypatch.setattr(logistic, "MOST_ROWS", 300)
    evidence = make_evidence(n_items=100, per_item=8, n_participants=60)
    who = np.sort(evidence.participant, axis=0)
    rows = Rows(np.ones((800, 1)), who, np.ones((800, 1)), np.ones(800), 60)
    some = logistic.some_rows(rows, 42)
    shares = np.bincount(who[some, 0], minlength=60) / np.bincount(who[:, 0], minlength=60)
    assert len(np.unique(some)) == len(some) == 300
    assert ((shares > 0) & (shares < 1)).sum() <= 1
    few = logistic.some_rows(replace(rows, who=who // 20), 42)  # 3 participants of 267 trials
    assert np.bincount(who[few, 0] // 20).tolist() == [100, 100, 100]
    # The same penalties give the same predictions: fits are to all rows of training
    monkeypatch.setattr(logistic, "PERSON_PENALTIES", (3.0,))
    monkeypatch.setattr(logistic, "WEIGHT_PENALTIES", (3.0,))
    capped = Logistic().held_out(evidence, in_blocks(evidence, 4))
    monkeypatch.setattr(logistic, "MOST_ROWS", 10_000)
    whole = Logistic().held_out(evidence, in_blocks(evidence, 4))
    assert capped.p_original == pytest.approx(whole.p_original, abs=1e-6)


def by_hand(evidence, folds, pairs, seed=42):
    """The nested search in plain loops of scikit-learn; columns over the root of their penalty have C = 1 each."""
    towards, h = evidence.towards_truth, evidence.n_humans
    people = np.unique(evidence.participant[:, 0]) if h else np.empty(0)
    p = np.empty(len(evidence))
    chosen = []
    for fold in range(folds.n):
        train = folds.train(fold)
        columns, kind = [], []
        if h:
            choice, rating = np.sign(towards[:, 0]), np.abs(towards[:, 0])
            z = (rating - rating[train].mean()) / rating[train].std()
            columns, kind = [choice, choice * z], [0, 0]
            columns += [choice * (evidence.participant[:, 0] == who) for who in people]
            kind += [1] * len(people)
        models = [x / np.sqrt((x[train] ** 2).mean()) for x in towards[:, h:].T]
        for x in models:
            alike = sum((x[train] * y[train]).mean() ** 2 for y in models)
            columns.append(x / np.sqrt(alike))
            kind.append(0)
        design, kind = np.column_stack(columns), np.array(kind)

        def fitted(rows, pair, design=design, kind=kind):
            scaled = design / np.sqrt(np.where(kind == 0, *pair))
            both = np.r_[scaled[rows], -scaled[rows]]
            target = np.r_[np.ones(rows.sum()), np.zeros(rows.sum())]
            model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-9, max_iter=2000)
            return scaled @ model.fit(both, target).coef_[0]

        items, place = np.unique(evidence.item[train], return_inverse=True)
        block = np.full(len(evidence), -1)
        block[train] = (np.random.default_rng(seed).permutation(len(items)) % 5)[place]
        losses = [
            sum(
                np.logaddexp(0, -fitted(train & (block != b), pair)[block == b]).sum()
                for b in range(5)
            )
            for pair in pairs
        ]
        chosen.append(pairs[int(np.argmin(losses))])
        held = folds.fold == fold
        p[held] = 1 / (1 + np.exp(-fitted(train, chosen[-1])[held]))
    return p, chosen


@pytest.mark.parametrize("members", [("human", "org/model-0"), ("org/model-0", "org/model-1")])
def test_penalties_are_chosen_within_training_and_predictions_are_those_of_plain_loops(
    members, monkeypatch
):
    monkeypatch.setattr(logistic, "PERSON_PENALTIES", (30.0, 1.0))
    monkeypatch.setattr(logistic, "WEIGHT_PENALTIES", (10.0, 0.1))
    monkeypatch.setattr(logistic, "n_partitions", lambda _, **__: 1)
    evidence = make_evidence(n_items=15, per_item=2, n_participants=5, models=(0.9, 0.5), seed=4)
    evidence = evidence.of(members)
    folds = in_blocks(evidence, 2)
    held = Logistic().held_out(evidence, folds)
    persons = (30.0, 1.0) if evidence.n_humans else (30.0,)
    pairs = [(weight, person) for person, weight in product(persons, (10.0, 0.1))]
    p, chosen = by_hand(evidence, folds, pairs)
    assert held.p_original == pytest.approx(p, abs=2e-4)
    counts = held.about.penalties.weights
    assert counts == {f"{v:g}": sum(c[0] == v for c in chosen) for v in (0.1, 10.0) if v in [c[0] for c in chosen]}  # fmt: skip


def test_many_folds_are_merged_into_larger_ones_within_whose_training_they_stay():
    evidence = make_evidence(n_items=60, per_item=4, n_participants=40)
    for folds, n in ((by_item(evidence), 10), (by_item_and_participant(evidence), 20)):
        merged = coarser(folds)
        assert merged.n == n
        for row in range(0, len(evidence), 7):
            assert not (merged.train(merged.fold[row]) & ~folds.train(folds.fold[row])).any()
            assert merged.fold[row] not in merged.fold[merged.train(merged.fold[row])]
    few = in_blocks(evidence, 20)
    assert coarser(few) is few


def test_people_who_are_not_in_training_have_no_calibration_of_their_own():
    evidence = make_evidence(n_items=30, per_item=3, n_participants=20)
    folds = by_item_and_participant(evidence)
    renamed = replace(evidence, participant=evidence.participant + 1000)
    one, two = (Logistic().held_out(e, folds).p_original for e in (evidence, renamed))
    assert two == pytest.approx(one, abs=1e-9)
    who = np.array([[0], [0], [1], [1]])
    known = fit(Rows(np.ones((4, 1)), who, np.ones((4, 1)), np.ones(4), 4), np.array([[1.0, 1.0]]))
    own = known.own[0]
    assert (own[:2] > 0).all()
    assert (own[2:] == 0).all()
