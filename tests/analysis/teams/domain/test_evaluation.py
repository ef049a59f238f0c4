"""Teams are scored, resampled and set against their best member; whom they follow where members disagree."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, log_loss

from analysis.codec import to_json
from analysis.stats import NotEnough
from analysis.stats.calibration import bin_columns, calibration_error, error_interval, error_noise
from analysis.stats.two_way_clustered import two_way
from analysis.teams.domain import evaluation
from analysis.teams.domain import folds as folds_module
from analysis.teams.domain.evaluation import (
    complementarity,
    evaluate,
    evaluate_all,
)
from analysis.teams.domain.folds import Draws, difference
from analysis.teams.results import Method
from tests.analysis.teams.domain.simulated import held_out_of, make_evidence, saying

SMALL = make_evidence(n_items=12, per_item=4, n_participants=9, models=(0.9, 0.5), seed=3)
MIDDLE = make_evidence(n_items=40, per_item=4, n_participants=9, models=(0.9, 0.5), seed=3)


def held_of(evidence, seed=1):
    """Any probabilities, never a tie."""
    p = np.random.default_rng(seed).uniform(0.05, 0.95, len(evidence))
    return saying(p)


def by_hand(evidence, values, resamples, seed):
    """The definition, drawn pair by pair: every drawn item with every drawn person, for each person of a row."""
    items, people = np.unique(evidence.item), np.unique(evidence.participant)
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)]
    drawn_people = people[streams[0].integers(0, len(people), (resamples, len(people)))]
    drawn_items = items[streams[1].integers(0, len(items), (resamples, len(items)))]
    means = []
    for seen, met in zip(drawn_items.tolist(), drawn_people.tolist(), strict=True):
        weights = [
            seen.count(i) * np.prod([met.count(p) for p in row])
            for i, row in zip(evidence.item.tolist(), evidence.participant.tolist(), strict=True)
        ]
        means.append(np.dot(weights, values) / sum(weights) if sum(weights) else [np.nan] * 3)
    return np.array(means)


@pytest.mark.parametrize("n_humans", [1, 2])
def test_a_resample_counts_a_row_as_often_as_its_item_and_each_of_its_people_were_drawn(n_humans):
    evidence = make_evidence(n_items=6, per_item=4, n_participants=7, n_humans=n_humans)
    values = np.random.default_rng(1).normal(size=(len(evidence), 3))
    found = Draws.of(evidence, resamples=40, seed=3).means(values)
    np.testing.assert_allclose(found, by_hand(evidence, values, 40, 3), rtol=1e-12)


def test_how_much_is_held_at_once_and_the_order_of_rows_alter_nothing(monkeypatch):
    values = np.random.default_rng(1).normal(size=(len(SMALL), 3))
    whole = Draws.of(SMALL, resamples=300).means(values)
    order = np.random.default_rng(2).permutation(len(SMALL))
    shuffled = Draws.of(SMALL.rows(order), resamples=300).means(values[order])
    np.testing.assert_allclose(shuffled, whole, rtol=1e-12)
    for name, few in (("CHUNK", 7), ("BLOCK", 30), ("MOST_COUNTS", 100)):
        monkeypatch.setattr(folds_module, name, few)
    np.testing.assert_allclose(Draws.of(SMALL, resamples=300).means(values), whole, rtol=1e-12)


def test_more_rows_get_fewer_resamples_but_never_less_than_200(monkeypatch):
    monkeypatch.setattr(folds_module, "MOST_WEIGHTS", 48 * 1_000)
    assert Draws.of(SMALL, resamples=5_000).resamples == 1_000
    assert Draws.of(SMALL, resamples=700).resamples == 700
    monkeypatch.setattr(folds_module, "MOST_WEIGHTS", 480)
    assert Draws.of(SMALL, resamples=5_000).resamples == 200
    assert Draws.of(SMALL, resamples=0).resamples == 0


def test_scores_are_those_of_scikit_learn_and_of_the_calibration_of_the_report():
    held = held_of(SMALL)
    result = evaluate(SMALL, held, Method.LOGISTIC, Draws.of(SMALL, resamples=50))
    is_b = SMALL.truth > 0
    p_b = np.where(is_b, held.p_original, 1 - held.p_original)
    assert result.n_correct == ((p_b > 0.5) == is_b).sum()
    assert result.accuracy == result.n_correct / 48
    assert result.log_loss_nats == pytest.approx(log_loss(is_b, p_b), rel=1e-12)
    assert result.brier == pytest.approx(brier_score_loss(is_b, p_b), rel=1e-12)
    stated = np.maximum(p_b, 1 - p_b)
    known = calibration_error(stated, held.points, low=0.5, n_bins=10)
    assert result.calibration_error == pytest.approx(known.value, rel=1e-12)


def test_intervals_are_percentiles_resampled_by_hand_brought_to_the_two_way_error_and_shares_score_intervals():
    """Each number computed anew on rows repeated as often as they were drawn."""
    held = held_of(MIDDLE)
    draws = Draws.of(MIDDLE, resamples=400, seed=5)
    result = evaluate(MIDDLE, held, Method.MAJORITY, draws)
    weights = draws.means(np.eye(len(MIDDLE)))
    best = MIDDLE.points[:, [m == result.best_member for m in MIDDLE.names]][:, 0]
    stated = np.maximum(held.p_original, 1 - held.p_original)
    place = np.minimum(np.floor((stated - 0.5) * 20), 9)
    rows = {
        "log_loss_nats": -np.log(held.p_original),
        "brier": (1 - held.p_original) ** 2,
    }
    who, t = MIDDLE.participant[:, 0], stats.t.ppf(0.975, 8) / stats.norm.ppf(0.975)
    for name, values in rows.items():
        again = np.array([np.average(values, weights=w) for w in weights])
        error = two_way(who, MIDDLE.item, values)
        scaled = error.estimate + (again - error.estimate) * t * error.se / again.std(ddof=1)
        expected = np.quantile(scaled, [0.025, 0.975])
        assert getattr(result, f"{name}_ci95") == pytest.approx(expected, rel=1e-9), name
    gain = two_way(who, MIDDLE.item, held.points - best)
    assert result.gain_ci95 == pytest.approx(gain.within(-1.0, 1.0), rel=1e-9)
    assert (result.gain_p, result.gain_se) == pytest.approx((gain.p, gain.se))
    for name, values in (
        ("accuracy", held.points),
        ("selector_accuracy", MIDDLE.points.max(axis=1)),
    ):
        found = getattr(result, f"{name}_ci95")
        assert found == pytest.approx(two_way(who, MIDDLE.item, values).share_ci95, rel=1e-9)
        assert 0 <= found[0] < values.mean() <= found[1] <= 1
    off = bin_columns(place.astype(int), held.points - stated, 10)
    noise = error_noise(off, [MIDDLE.item, who], np.random.default_rng(5))
    expected = error_interval(off.mean(axis=0), noise, result.calibration_error)
    assert result.calibration_error_ci95 == expected


def test_teams_evaluated_together_have_the_numbers_they_have_alone(monkeypatch):
    names = SMALL.names
    teams = [names[:1], names[:2], names[1:], names]
    asked = [(team, Method.LOGISTIC, held_of(SMALL, seed)) for seed, team in enumerate(teams)]
    draws = Draws.of(SMALL, resamples=300)
    told = replace(SMALL, n_among=1)  # from chance, by intervals at 95% for each member
    together = evaluate_all(told, asked, draws)
    monkeypatch.setattr(evaluation, "BATCH", 300 * 5 * 2)
    assert evaluate_all(told, asked, draws) == together
    for (team, method, held), result in zip(asked, together, strict=True):
        assert evaluate(told.of(team), held, method, draws) == result
    right = [asked[-1][2].points, SMALL.points[:, names.index(together[-1].best_member)]]
    known = difference(*right, draws)
    for name in ("ci95", "p", "se"):
        assert getattr(together[-1], f"gain_{name}") == pytest.approx(getattr(known, name)), name
    assert (together[0].gain, together[0].complementarity) == (None,) * 2


def test_a_member_by_itself_is_judged_by_the_probability_of_the_choice_it_made():
    """A fit may go against a choice: a person who is always wrong is then overconfident in what they chose."""
    wrong = held_out_of(np.full(48, 0.9), np.zeros(48, bool))
    result = evaluate(SMALL.of(("human",)), wrong, Method.ALONE, Draws.of(SMALL, resamples=50))
    assert (result.accuracy, result.calibration_error) == (0.0, pytest.approx(0.1))


def test_fewer_than_three_items_or_people_give_no_interval():
    many = make_evidence(n_items=10, per_item=3, n_participants=3)
    two_items, one_person = many.rows(many.item < 2), many.rows(many.participant[:, 0] == 1)
    two_people = many.rows(many.participant[:, 0] < 2)
    for evidence in (two_items, one_person, two_people):
        result = evaluate(
            evidence, held_of(evidence), Method.LOGISTIC, Draws.of(evidence, resamples=100)
        )
        intervals = [v for k, v in to_json(result).items() if k.endswith("ci95")]
        assert intervals == [None] * 6
        assert (result.gain_p, result.gain_p_holm, result.gain_se) == (None,) * 3
        assert np.isfinite(result.log_loss_nats)
    none_asked_for = evaluate(MIDDLE, held_of(MIDDLE), Method.MAJORITY, Draws.of(MIDDLE, resamples=0))  # fmt: skip
    assert (none_asked_for.log_loss_nats_ci95, none_asked_for.brier_ci95) == (None, None)
    assert none_asked_for.gain_ci95[0] < none_asked_for.gain < none_asked_for.gain_ci95[1]


def test_a_probability_of_nothing_costs_much_but_not_infinitely():
    p = np.where(np.arange(48) == 0, 0.0, 1.0)
    told = replace(SMALL, n_among=1)  # from chance, by intervals at 95% for each member
    result = evaluate(told, saying(p), Method.LOGISTIC, Draws.of(SMALL, resamples=50))
    assert result.log_loss_nats == pytest.approx(6 * np.log(10) / 48)
    assert (result.brier, result.calibration_error) == pytest.approx((1 / 48, 1 / 48))
    assert np.isfinite(result.log_loss_nats_ci95).all()


def made(n_members, n=400, seed=1):
    rng = np.random.default_rng(seed)
    return 1.0 * (rng.random((n, n_members)) < 0.6), 1.0 * (rng.random(n) < 0.7)


@pytest.mark.parametrize("n_members", [2, 3, 4, 6])
def test_patterns_name_who_is_right_and_add_up(n_members):
    is_right, team_right = made(n_members)
    names = tuple("abcdef"[:n_members])
    found = complementarity(names, is_right, team_right)
    rows = ["".join(np.array(names)[row > 0]) for row in is_right]
    known, right = Counter(rows), Counter(np.array(rows)[team_right > 0].tolist())
    assert {"".join(p.right): (p.n, p.n_team_right) for p in found.patterns} == {
        key: (n, right[key]) for key, n in known.items()
    }
    order = [(-p.n_right, p.right) for p in found.patterns]
    assert order == sorted(order, key=lambda key: (key[0], [name not in key[1] for name in names]))
    assert sum(p.share for p in found.patterns) == pytest.approx(1)
    three = (found.all_right, found.some_right, found.none_right)
    assert (sum(p.n for p in three), sum(p.n_team_right for p in three)) == (400, team_right.sum())
    assert (found.only_first is None) == (n_members > 2)


def test_a_team_that_votes_follows_the_majority_always_and_its_opposite_never():
    is_right, _ = made(3)
    majority = is_right.sum(axis=1) >= 2
    for team, follows in ((majority, True), (~majority, False)):
        some = complementarity(("a", "b", "c"), is_right, team).some_right
        assert some.n_majority == some.n
        assert some.n_follows_majority == (some.n if follows else 0)
    is_right, team_right = made(4)
    split = (is_right.sum(axis=1) == 2).sum()
    some = complementarity(tuple("abcd"), is_right, team_right).some_right
    assert some.n - some.n_majority == split


def test_members_that_tie_are_neither_right_nor_wrong():
    points = np.array([[0, 0], [0, 0.5], [0.5, 0.5], [1, 0.5], [1, 1]])
    found = complementarity(("a", "b"), points, np.array([1, 1, 1, 0, 1]))
    assert (found.none_right.n, found.none_right.n_team_right) == (3, 3)
    assert (found.all_wrong.n, found.all_wrong.n_team_right) == (1, 1)
    three = np.array([[1, 0.5, 0], [1, 1, 0.5], [1, 0, 0]])
    some = complementarity(("a", "b", "c"), three, np.array([0, 1, 0])).some_right
    assert (some.n, some.n_majority, some.n_follows_majority) == (3, 2, 2)


@pytest.mark.parametrize(
    ("team", "leader"),
    [
        ([1, 0, 0.5, 0], "a"),
        ([1, 0, 1, 0], "b"),
        # As a, but b decides where a ties: b has an influence
        ([1, 0, 0, 0], None),
    ],
)
def test_a_team_follows_a_member_only_if_it_ties_with_it_too(team, leader):
    points = np.array([[1, 1], [0, 0], [0.5, 1], [0, 0]])
    found = complementarity(("a", "b"), points, np.array(team, dtype=float))
    assert found.leader == leader
    alike = complementarity(("a", "b"), points[[0, 1]], np.array([1.0, 0.0]))
    assert alike.leader is None


def test_one_member_cannot_disagree():
    with pytest.raises(NotEnough, match="at least two"):
        complementarity(("a",), np.ones((3, 1), bool), np.ones(3, bool))
