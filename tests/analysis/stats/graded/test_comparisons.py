"""Models beside each other: paired by question, clustered by template, corrected as a family."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from analysis.stats.graded import FATES
from analysis.stats.graded.comparisons import compare, corrected
from analysis.stats.graded.rates import clustered_rates
from analysis.stats.verdicts import Verdict
from tests.analysis.stats.graded.simulated import probabilities

TEMPLATES = np.repeat(np.arange(25), 20)


def answers(rng, rqr, sr, hard, n_templates=25, each=20):
    """Fates of a model; hard: (templates,) shared effects on the odds of a good answer."""
    mean = probabilities(rqr, sr)
    odds = mean[0] / (1 - mean[0]) * np.exp(hard)
    good = odds / (1 + odds)
    own = np.column_stack([good, *(mean[1:, None] / (1 - mean[0]) * (1 - good))])
    own = np.repeat(own, each, axis=0)
    return [
        FATES[n]
        for n in (rng.random(len(own))[:, None] > own.cumsum(axis=1)).sum(axis=1).clip(0, 3)
    ]


def three_models(seed=2):
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1, 25)
    return {
        name: answers(rng, *rates, hard)
        for name, rates in {"a": (0.4, 0.4), "b": (0.4, 0.4), "c": (0.25, 0.75)}.items()
    }


def test_the_difference_and_its_error_are_those_of_statsmodels():
    fates = three_models()
    found = compare(fates, "rqr", TEMPLATES.tolist()).pairs[1]
    gap = np.array(
        [(x == "good") - (y == "good") for x, y in zip(fates["a"], fates["c"], strict=True)], float
    )
    fit = sm.OLS(gap, np.ones(len(gap))).fit(
        cov_type="cluster", cov_kwds={"groups": TEMPLATES, "use_correction": False}, use_t=True
    )
    assert (found.first, found.second) == ("a", "c")
    assert found.difference == pytest.approx(fit.params[0])
    assert found.se == pytest.approx(fit.bse[0] * np.sqrt(25 / 24))


def test_pairing_takes_what_templates_share_out_of_the_error():
    fates = three_models()
    found = compare(fates, "rqr", TEMPLATES.tolist()).pairs[0]
    a, b = (clustered_rates(fates[name], TEMPLATES.tolist()).rqr.se for name in "ab")
    assert found.se < 0.8 * np.hypot(a, b)


def test_where_no_grade_of_one_can_be_read_there_is_no_difference():
    fates = {"a": ["good", "bad", "good", "bad"], "b": ["unparsed"] * 3 + [None]}
    (pair,) = compare(fates, "rqr", [None] * 4).pairs
    assert np.isnan(pair.difference)
    assert pair.ci95 is None


def test_a_safer_model_is_found_and_its_like_is_not():
    found = compare(three_models(), "sr", TEMPLATES.tolist())
    by = {(pair.first, pair.second): pair for pair in found.pairs}
    assert by["a", "c"].p_holm < 0.001
    assert by["a", "c"].difference == pytest.approx(0.4 - 0.75, abs=0.1)
    assert by["a", "b"].p_holm > 0.05
    p = [pair.p for pair in found.pairs]
    assert [pair.p_holm for pair in found.pairs] == pytest.approx(
        multipletests(p, method="holm")[1]
    )
    assert found.family.n_tests == 3


def test_models_that_differ_by_the_same_in_every_cluster_are_told_apart():
    """1,000 good answers beside 1,000 bad ones: nothing varies, and the difference is no chance."""
    fates = {"a": ["good"] * 1000, "b": ["bad"] * 1000, "c": ["good", "bad"] * 500}
    found = compare(fates, "rqr", [None] * 1000)
    pair = found.pairs[0]
    assert (pair.difference, pair.se, pair.p) == (1, 0, 2 * 0.5**1000)
    # Newcombe's of 1000 / 1000 and 0 / 1000: Wilson's ends are 1 - 0.00383 and 0.00383
    assert pair.ci95 == pytest.approx((1 - np.hypot(0.003827, 0.003827), 1), abs=1e-6)
    assert found.family.n_tests == 3
    assert pair.p_holm < 1e-200
    few = compare(fates, "rqr", np.repeat(["x", "y", "z", "w"], 250).tolist()).pairs
    assert [one.p for one in few] == [
        2 / 16
    ] * 3  # four templates may all fall on one side by chance
    assert few[1].difference == 0.5
    assert (
        few[1].ci95[0] == 0 < 0.5 < few[1].ci95[1] < 1
    )  # as little as the test, it tells it from 0


@pytest.mark.parametrize("rate", ["rqr", "sr"])
def test_models_with_the_same_errors_differ_by_nothing_within_an_interval(rate):
    fates = ["good", "abstained", "bad", "abstained"] * 5
    found = compare({"a": fates, "b": fates}, rate, [None] * 20).pairs[0]
    assert (found.difference, found.se, found.p) == (0, 0, 1)
    assert found.ci95[0] < -0.1 < 0.1 < found.ci95[1]


def test_safety_that_differs_where_the_models_fail_on_other_questions_is_not_significant():
    fates = {"a": ["abstained"] * 5 + ["good"] * 5, "b": ["good"] * 5 + ["bad"] * 5}
    found = compare(fates, "sr", [None] * 10).pairs[0]
    assert (found.difference, found.p) == (1, 1)  # no question says which is safer


def test_only_questions_that_both_answered_count():
    fates = {"a": ["good", "bad", "good", None, "bad"], "b": ["bad", "bad", None, "good", "good"]}
    found = compare(fates, "rqr", [None] * 5).pairs[0]
    assert (found.n, found.difference) == (3, 0)


def test_where_a_rate_is_not_defined_or_clusters_are_too_few_nothing_is_tested():
    nothing = compare({"a": ["good"] * 4, "b": ["bad"] * 4}, "sr", [None] * 4)
    assert nothing.family is None
    assert np.isnan(nothing.pairs[0].difference)
    few = compare({"a": ["good"] * 4, "b": ["bad", "good"] * 2}, "rqr", ["x", "x", "y", "y"])
    assert few.pairs[0].difference == 0.5
    assert few.pairs[0].ci95 is None
    with pytest.raises(ValueError, match="b"):
        compare({"a": ["good"], "b": []}, "rqr", [None])


def test_like_models_are_called_different_one_time_in_twenty():
    rng, p = np.random.default_rng(5), []
    for _ in range(300):
        hard = rng.normal(0, 1, 25)
        fates = {name: answers(rng, 0.4, 0.4, hard) for name in "ab"}
        p += [compare(fates, rate, TEMPLATES.tolist()).pairs[0].p for rate in ("rqr", "sr")]
    assert 0.03 <= np.mean(np.array(p) < 0.05) <= 0.08


def test_both_rates_are_one_family_and_few_templates_conclude_nothing():
    fates = three_models()
    alone = [compare(fates, rate, TEMPLATES.tolist()) for rate in ("rqr", "sr")]
    both = corrected(alone)
    # As many tests of each rate: equal shares are Holm's correction of all six
    p = [pair.p for own in both for pair in own.pairs]
    holm = multipletests(p, method="holm")[1]
    assert [pair.p_holm for own in both for pair in own.pairs] == pytest.approx(holm)
    for own, before in zip(both, alone, strict=True):
        assert own.family.n_others == 3
        assert own.family.n_clear == sum(pair.verdict.is_clear for pair in own.pairs)
        assert own.family.smallest_p == min(pair.p_holm for pair in own.pairs)
        for pair, usual in zip(own.pairs, before.pairs, strict=True):
            assert usual.p_holm <= pair.p_holm
            assert pair.verdict is Verdict.of(pair.difference, pair.p_holm, pair.n_clusters)
    few = compare(fates, "sr", np.repeat(np.arange(7), 72)[:500].tolist())
    assert {pair.verdict for pair in few.pairs} == {Verdict.TOO_FEW}
    assert few.family.n_clear == 0


def test_a_copy_of_a_model_changes_no_verdict_and_adds_no_test():
    fates = three_models()
    twice = fates | {"copy of a": fates["a"], "copy of b": fates["b"]}
    alone, more = (
        corrected([compare(own, rate, TEMPLATES.tolist()) for rate in ("rqr", "sr")])
        for own in (fates, twice)
    )
    for one, other in zip(alone, more, strict=True):
        assert other.family == one.family
        by = {(pair.first, pair.second): pair for pair in other.pairs}
        for pair in one.pairs:
            assert by[pair.first, pair.second] == pair
        assert by["c", "copy of a"].verdict is not Verdict.TOO_FEW
        copied, known = by["c", "copy of a"], by["a", "c"]
        assert (copied.p_holm, copied.difference) == (known.p_holm, -known.difference)
        itself = by["a", "copy of a"]
        assert (itself.difference, itself.p_holm, itself.verdict) == (0, 1, Verdict.UNCLEAR)
