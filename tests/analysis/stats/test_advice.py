"""Advisers' confidence: held out, calibrated on average, and checked against statsmodels' Logit."""

import numpy as np
import pytest
import statsmodels.api as sm

from analysis.stats import NotEnough
from analysis.stats.advice import calibrated, passage_shares, planted


def simulated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    evidence = rng.exponential(1, n)
    return evidence, rng.random(n) < 1 / (1 + np.exp(-(0.2 + evidence)))


def test_each_item_is_judged_by_a_fit_to_the_items_of_other_folds_alone() -> None:
    evidence, right = simulated(200, 1)
    found = calibrated(evidence, right, seed=5)
    assert np.bincount(found.fold).tolist() == [20] * 10
    for fold in range(10):
        held = found.fold == fold
        fit = sm.Logit(right[~held], sm.add_constant(evidence[~held])).fit(disp=0)
        assert found.p[held] == pytest.approx(
            fit.predict(sm.add_constant(evidence[held])), abs=1e-6
        )
        assert found.coefficients[fold] == pytest.approx(tuple(fit.params), abs=1e-5)


def test_the_truth_of_an_item_does_not_move_its_own_probability() -> None:
    evidence, right = simulated(60, 2)
    before = calibrated(evidence, right, seed=3)
    for item in range(60):
        other = right.copy()
        other[item] = not other[item]
        assert calibrated(evidence, other, seed=3).p[item] == before.p[item]


def test_items_of_one_work_are_held_out_together() -> None:
    evidence, right = simulated(60, 2)
    work = [f"work {n % 30}" for n in range(60)]
    found = calibrated(evidence, right, seed=3, work=work)
    assert found.fold[:30].tolist() == found.fold[30:].tolist()
    assert np.bincount(found.fold).tolist() == [6] * 10
    for item in range(30):
        other = right.copy()
        other[item + 30] = not other[item + 30]
        assert calibrated(evidence, other, seed=3, work=work).p[item] == found.p[item]
    with pytest.raises(NotEnough):
        calibrated(evidence, right, seed=3, work=["one"] * 60)


def test_the_probability_is_how_often_such_choices_are_right() -> None:
    evidence, right = simulated(20_000, 4)
    p = calibrated(evidence, right, seed=1).p
    for low, high in ((0.5, 0.65), (0.65, 0.8), (0.8, 0.95)):
        some = (p >= low) & (p < high)
        assert right[some].mean() == pytest.approx(p[some].mean(), abs=0.03)


def test_where_no_fit_exists_the_share_of_the_others_stands_in() -> None:
    found = calibrated(np.arange(20.0), np.ones(20), seed=1)
    assert found.coefficients == (None,) * 10
    assert set(found.p) == {19 / 20}
    wrong = calibrated(np.arange(20.0), np.zeros(20), seed=1)
    assert (set(wrong.p), wrong.n_raised) == ({0.5}, 20)
    with pytest.raises(NotEnough):
        calibrated([1.0], [1], seed=1)


def test_a_probability_of_exactly_a_half_is_not_raised() -> None:
    # In each work one choice is right and one wrong, and nothing tells them apart
    found = calibrated(np.ones(20), [0, 1] * 10, seed=1, work=np.arange(20) // 2)
    assert found.coefficients == (None,) * 10
    assert (set(found.p), found.n_raised) == ({0.5}, 0)


def test_planted_advice_is_right_as_often_as_stated_in_each_stratum() -> None:
    strata = ["human"] * 10 + ["machine"] * 8
    found = planted(strata, 0.7, seed=1)
    assert (found[:10].sum(), found[10:].sum()) == (7, 6)
    # 8.4 and 4.2 make 12.6: the larger fraction gets one more
    found = planted(["human"] * 12 + ["machine"] * 6, 0.7, seed=1)
    assert (found[:12].sum(), found[12:].sum()) == (9, 4)
    assert not np.array_equal(found, planted(strata, 0.7, seed=2))
    often = np.mean([planted(strata, 0.7, seed=seed) for seed in range(500)], axis=0)
    assert abs(often[:10] - 0.7).max() < 0.1


def test_shares_of_passages_add_up_to_one_and_name_what_speaks_against_the_choice() -> None:
    nats = np.array([4.0, -1.0, 0.0])
    assert passage_shares(nats, picks_original=False).tolist() == [-0.8, 0.2, 0.0]
    assert passage_shares(np.zeros(2), picks_original=True).tolist() == [0.0, 0.0]
