"""Members who know nothing make no team that is worse, or surer, than chance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.stats.score_intervals import share_interval
from analysis.stats.two_way_clustered import two_way
from analysis.teams.domain import chance
from analysis.teams.domain.chance import SymmetricHalves, learns_noise, near_chance
from analysis.teams.domain.combination import AsPublished
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Draws, by_item, by_item_and_participant
from analysis.teams.domain.runs import METHODS, Runs
from analysis.teams.results import Member, MemberKind, Method
from tests.analysis.teams.domain.simulated import make_evidence


def guessing(n_items: int, seed: int) -> Evidence:
    """Two models whose evidence says nothing of the truth, correlated .5; as many originals on either side as can be."""
    rng = np.random.default_rng([n_items, seed])
    signed = rng.multivariate_normal(np.zeros(2), [[1, 0.5], [0.5, 1]], n_items)
    truth = rng.permutation(np.where(np.arange(n_items) % 2 == 0, 1.0, -1.0))
    members = tuple(Member(f"m{k}", MemberKind.MODEL, f"M{k}") for k in range(2))
    nobody = np.empty((n_items, 0), dtype=np.int64)
    return Evidence(members, np.arange(n_items), truth, signed, signed, nobody, nobody)


def by_chance(method, n_items, n_studies):
    """Accuracies in studies of members who know nothing, those of the published scheme, and gains with p < .05."""
    accuracies, left_out, above, below = [], [], 0, 0
    for seed in range(n_studies):
        result = tried(guessing(n_items, seed), method, 500)
        usual = result.near_chance.left_out_accuracy if result.near_chance else None
        accuracies.append(result.accuracy)
        left_out.append(result.accuracy if usual is None else usual)
        if result.gain_p is not None and result.gain_p < 0.05:
            above, below = above + (result.gain > 0), below + (result.gain < 0)
    return np.array(accuracies), np.array(left_out), above, below


def tried(evidence, method="logistic", resamples=300):
    runs = Runs(evidence, by_item(evidence), Draws.of(evidence, resamples))
    runs.add([evidence.names], METHODS[method])
    return runs.results()[0]


def inverted(n_items=10):
    """Studies of two members at chance of which the published scheme gets no item right."""
    for seed in range(60):
        evidence = guessing(n_items, seed)
        if not AsPublished().held_out(evidence, by_item(evidence)).points.any():
            yield evidence


def test_two_members_at_chance_on_ten_items_get_a_p_and_no_interval_of_a_scheme_that_is_always_wrong():
    result = tried(next(inverted()))
    assert result.near_chance.left_out_accuracy == 0
    assert result.near_chance.is_inverted
    assert result.gain_p > 0.05
    assert (result.accuracy_ci95, result.gain_ci95, result.gain_se) == (None,) * 3
    low, high = result.near_chance.accuracy_by_chance95
    assert low < 0.5 < high


def test_members_at_chance_stay_at_a_half_and_gains_look_real_no_more_often_than_they_may(
    monkeypatch,
):
    """The published scheme, on the same studies with as many originals on either side, is far below."""
    monkeypatch.setattr(chance, "MOST_FLIPS", 59)
    monkeypatch.setattr(chance, "FEWEST_FLIPS", 59)
    accuracies, left_out, above, below = by_chance("logistic", 10, 60)
    assert abs(accuracies.mean() - 0.5) < 4 * accuracies.std() / np.sqrt(60)
    assert left_out.mean() < 0.45
    # More than so many of 60 would come up in one of 1,000 runs of tests at 5%
    assert above + below <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.sweep
@pytest.mark.parametrize("n_items", [10, 30, 200])
@pytest.mark.parametrize("method", ["logistic", "average", "most-confident", "majority"])
def test_members_at_chance_stay_at_a_half_in_many_studies(method, n_items):
    n = 1000 if n_items < 200 else 400
    accuracies, _, above, below = by_chance(method, n_items, n)
    print(f"{method} {n_items}: {accuracies.mean()}, {above} above, {below} below")
    assert abs(accuracies.mean() - 0.5) < 0.015
    # Losses are not so bounded: the best member is chosen on the same trials, which favours it
    assert above <= 0.06 * n


def test_one_of_many_guessers_who_looks_better_by_chance_is_not_told_from_chance():
    """Its 95% interval is above 1/2, and that of the best of 30 must be further from it."""
    pair = guessing(200, 1)
    right = np.where(np.arange(200) < 0.58 * 200, 1.0, -1.0)
    better = replace(pair, signed=np.column_stack([right * pair.truth, pair.signed[:, 1]]))
    alone = better.of(["m0"])
    assert alone.n_among == 2
    assert not near_chance(replace(alone, n_among=1))
    assert near_chance(replace(alone, n_among=30))


@pytest.mark.parametrize(("n_items", "is_told"), [(10, True), (8, False)])
@pytest.mark.parametrize("side", [1, -1])
def test_a_member_that_is_always_right_or_wrong_is_told_by_as_many_coins(n_items, is_told, side):
    """Eight coins that fall alike are no surprise among 7 members (2 / 2^8 > .05 / 7), ten are."""
    pair = guessing(n_items, 1)
    signed = np.column_stack([side * pair.truth, pair.signed[:, 1]])
    always = replace(pair, signed=signed).of(["m0"])
    assert near_chance(replace(always, n_among=7)) != is_told


@pytest.mark.parametrize("method", [name for name in METHODS if name != Method.LOGISTIC])
def test_where_fits_are_not_repeated_no_p_and_no_interval_is_given(method):
    result = tried(guessing(24, 5), method)
    assert (result.near_chance.n_flips, result.gain_p, result.gain_ci95) == (0, None, None)
    assert result.accuracy_ci95 is None


def test_members_can_be_told_from_chance_by_an_interval_over_items_and_people():
    evidence = make_evidence(n_items=40, per_item=4, n_participants=30, models=(0.0,), d_human=0.4)
    right = evidence.points[:, 0]
    found = two_way(evidence.participant[:, 0], evidence.item, right)
    low, high = share_interval(found.estimate, found.se, 30)
    assert near_chance(evidence) == (low <= 0.5 <= high)
    certain = make_evidence(n_items=40, models=(0.0, 2.0))
    assert not near_chance(certain)
    assert not learns_noise(certain)
    always_wrong = replace(certain, signed=-certain.signed).of(["org/model-1"])
    assert not near_chance(always_wrong)


def test_the_usual_way_is_used_where_a_member_can_be_told_from_chance():
    evidence = make_evidence(n_items=60, models=(0.0, 1.5))
    folds = by_item(evidence)
    runs = Runs(evidence, folds, Draws.of(evidence, 300))
    runs.add([evidence.names], METHODS["logistic"])
    held = runs.held[evidence.names, Method.LOGISTIC]
    expected = METHODS["logistic"].held_out(evidence, folds)
    np.testing.assert_array_equal(held.p_original, expected.p_original)
    assert held.near_chance is None


@pytest.mark.parametrize("folds_of", [by_item, by_item_and_participant])
def test_halves_hold_out_what_folds_hold_out_and_know_no_sides(folds_of, monkeypatch):
    monkeypatch.setattr(chance, "MOST_ROWS", 0)
    evidence = make_evidence(n_items=20, per_item=3, n_participants=12, models=(0.1,), d_human=0.1)
    folds, way = folds_of(evidence), SymmetricHalves()
    held = way.held_out(evidence, folds)
    for fold in (0, folds.n // 2):
        aside = ~folds.train(fold)
        turned = replace(evidence, truth=np.where(aside, -evidence.truth, evidence.truth))
        rows = folds.fold == fold
        after = way.held_out(turned, folds).p_original[rows]
        np.testing.assert_allclose(after, 1 - held.p_original[rows], atol=1e-9)
    flip = np.where(np.random.default_rng(1).random(len(evidence)) < 0.5, -1.0, 1.0)
    swapped = replace(evidence, truth=flip * evidence.truth, signed=flip[:, None] * evidence.signed)
    np.testing.assert_allclose(way.held_out(swapped, folds).p_original, held.p_original, atol=1e-9)


def test_the_gain_by_chance_is_that_of_fits_to_truths_turned_by_item(
    monkeypatch,
):
    evidence = make_evidence(n_items=16, per_item=2, n_participants=9, models=(0.1, 0.0), d_human=0)
    folds, rng, gains = by_item(evidence), np.random.default_rng(5), []
    low, high = SymmetricHalves(seed=3).held_out(evidence, folds).near_chance.gain_by_chance95
    monkeypatch.setattr(chance, "MOST_ROWS", 0)  # one fit at a time, no flips of its own
    for _ in range(200):
        turn = rng.choice([-1.0, 1.0], 16)[evidence.item]
        turned = replace(evidence, truth=turn * evidence.truth)
        right = SymmetricHalves(seed=3).held_out(turned, folds).points
        gains.append(right.mean() - turned.points.mean(axis=0).max())
    assert np.quantile(gains, [0.025, 0.975]) == pytest.approx((low, high), abs=0.07)
