"""Differential attrition: exact, over all arms and stages as one family."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from analysis.stats.attrition import losses
from analysis.stats.verdicts import Verdict


def test_each_arm_is_against_all_others_by_fishers_exact_test():
    stages = {"left": [(40, 4), (50, 10), (60, 30)], "excluded": [(36, 2), (40, 3), (30, 1)]}
    found = losses(["a", "b", "c"], stages)
    assert [(one.stage, one.arm) for one in found] == [
        (stage, arm) for stage in stages for arm in "abc"
    ]
    third = found[2]
    assert (third.n, third.lost, third.n_others, third.lost_others) == (60, 30, 90, 14)
    assert third.p == pytest.approx(fisher_exact([[30, 30], [14, 76]]).pvalue)
    assert third.p_holm == pytest.approx(6 * third.p)
    assert third.verdict is Verdict.ABOVE
    assert found[0].verdict is Verdict.BELOW
    assert {one.verdict for one in found[3:]} == {Verdict.UNCLEAR}


def test_two_arms_have_one_test_at_each_stage():
    found = losses(["a", "b"], {"left": [(40, 4), (50, 10)], "excluded": [(36, 2), (40, 3)]})
    assert [(one.stage, one.arm) for one in found] == [("left", "b"), ("excluded", "b")]


def test_an_arm_without_anybody_has_no_test():
    assert losses(["a", "b"], {"left": [(0, 0), (50, 10)]}) == ()
    assert losses(["a"], {"left": [(10, 1)]}) == ()
    assert losses([], {"left": []}) == ()


def test_arms_that_lose_alike_are_hardly_ever_said_to_differ():
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(1000):
        left = rng.binomial(40, 0.3, 3)
        stages = {
            "left": [(40, int(n)) for n in left],
            "excluded": [(40 - int(n), int(rng.binomial(40 - n, 0.15))) for n in left],
        }
        found = losses(["a", "b", "c"], stages)
        wrong += any(one.verdict is not Verdict.UNCLEAR for one in found)
    assert wrong <= 50
