"""A judge's bias by length and by family, against statsmodels and where it was planted."""

import numpy as np
import pytest
import statsmodels.api as sm

from analysis.stats import NotEnough
from analysis.stats.graded.judge_bias import bias_by_length, own_family_bias


def test_the_slope_and_its_error_are_those_of_statsmodels():
    rng = np.random.default_rng(1)
    cluster, length = np.repeat(np.arange(25), 8), rng.integers(5, 400, 200)
    gap = 0.2 * np.log2(length) + rng.normal(size=25)[cluster] + rng.normal(size=200)
    fit = sm.OLS(gap, sm.add_constant(np.log2(length))).fit(
        cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True
    )
    found = bias_by_length(gap, length, cluster)
    assert (found.estimate, found.se, found.p) == pytest.approx(
        (fit.params[1], fit.bse[1], fit.pvalues[1])
    )
    assert found.ci95 == pytest.approx(tuple(fit.conf_int()[1]))


def test_a_mild_judge_of_the_long_answers_alone_does_not_make_length_count():
    """Judge 1 gives a point more and has graded long answers; within each judge, a doubling brings .1."""
    rng = np.random.default_rng(3)
    judge, cluster = np.repeat([0, 1], 300), np.tile(np.arange(60), 10)
    length = rng.integers(5, 50, 600) * np.where(judge == 1, 10, 1)
    gap = 0.1 * np.log2(length) + judge + rng.normal(0, 0.2, 600)
    low, high = bias_by_length(gap, length, cluster, judge).ci95
    assert low < 0.1 < high
    assert bias_by_length(gap, length, cluster).ci95[0] > 0.2
    design = np.column_stack([np.ones(600), judge, np.log2(length)])
    fit = sm.OLS(gap, design).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    found = bias_by_length(gap, length, cluster, judge)
    assert (found.estimate, found.se, found.p) == pytest.approx(
        (fit.params[2], fit.bse[2], fit.pvalues[2])
    )
    with pytest.raises(NotEnough):  # each judge saw one length
        bias_by_length(gap, np.where(judge == 1, 40, 20), cluster, judge)


def test_a_preference_for_the_own_family_is_told_from_mildness_and_from_families_that_are_liked():
    """Judge a is half a point milder, answers of b get a point more from all, and .3 more from their own judge."""
    rng = np.random.default_rng(2)
    n = 4000
    judge, answer = rng.choice(["a", "b"], n), rng.choice(["a", "b", "c"], n)
    gap = (
        0.5 * (judge == "a")
        + 1.0 * (answer == "b")
        + 0.3 * (judge == answer)
        + rng.normal(0, 0.5, n)
    )
    found = own_family_bias(gap, judge, answer, np.arange(n) % 200)
    low, high = found.ci95
    assert low < 0.3 < high
    assert high - low < 0.12
    alone = own_family_bias(
        gap[judge == "b"], judge[judge == "b"], answer[judge == "b"], np.arange(n)[judge == "b"]
    )
    wanted = (
        gap[(judge == "b") & (answer == "b")].mean() - gap[(judge == "b") & (answer != "b")].mean()
    )
    assert alone.estimate == pytest.approx(wanted)


def test_where_judges_grade_their_own_family_alone_there_is_no_answer():
    with pytest.raises(NotEnough):
        own_family_bias([1.0, 0, 1, 0], ["a", "a", "b", "b"], ["a", "a", "b", "b"], np.arange(4))
    with pytest.raises(NotEnough):
        own_family_bias([1.0, 0, 1, 0], ["a"] * 4, ["b"] * 4, np.arange(4))
    with pytest.raises(NotEnough):
        bias_by_length([1.0, 0, 1], [5, 5, 5], np.arange(3))
    with pytest.raises(NotEnough):  # of one difference alone, the interval would be 0 to 0
        bias_by_length([0.5] * 8, np.arange(20, 28), np.arange(8))
    with pytest.raises(NotEnough):
        bias_by_length([1.0, 0, 1], [5, 6, 7], np.zeros(3, dtype=int))
