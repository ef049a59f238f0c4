"""A judge's bias by length and by family, against another form of the estimator, and where it was planted."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import linalg

from analysis.stats import MissingResult, NotEnough
from analysis.stats.graded.judge_bias import bias_by_length, corrected, own_family_bias
from analysis.stats.verdicts import Verdict


def by_hand(gap, design, cluster):
    """Slope and CR2 error of the last column, from the residuals of each cluster (Bell and McCaffrey 2002)."""
    fit = sm.OLS(gap, design).fit()
    bread = np.linalg.inv(design.T @ design)
    adds = []
    for g in np.unique(cluster):
        own = design[cluster == g]
        root = linalg.fractional_matrix_power(np.eye(len(own)) - own @ bread @ own.T, -0.5)
        adds.append((bread @ own.T @ root.real @ fit.resid[cluster == g])[-1])
    return fit.params[-1], np.sqrt(np.square(adds).sum())


def test_the_slope_and_its_error_are_those_of_cr2_by_the_residuals_of_each_cluster():
    rng = np.random.default_rng(1)
    cluster, length = np.repeat(np.arange(25), 8), rng.integers(5, 400, 200)
    gap = 0.2 * np.log2(length) + rng.normal(size=25)[cluster] + rng.normal(size=200)
    found = bias_by_length(gap, length, cluster)
    expected = by_hand(gap, sm.add_constant(np.log2(length)), cluster)
    assert (found.estimate, found.se) == pytest.approx(expected)


@pytest.mark.parametrize("n_templates", [5, 8, 12])
def test_few_templates_find_a_bias_that_is_not_there_at_most_once_in_twenty(n_templates):
    rng, n, rejected = np.random.default_rng(n_templates), 600, 0
    for _ in range(n):
        cluster = np.repeat(np.arange(n_templates), 3 * rng.integers(4, 13, n_templates))
        length = rng.normal(size=n_templates)[cluster] + 0.5 * rng.normal(size=len(cluster))
        gap = 0.5 * rng.normal(size=n_templates)[cluster] + 0.6 * rng.normal(size=len(cluster))
        found = bias_by_length(np.round(2 * gap) / 2, 2 ** (5 + length), cluster)
        rejected += found.p < 0.05
        if n_templates < 8:
            assert found.verdict is Verdict.TOO_FEW
    # 600 draws: standard error .9 points; with CR1 and templates less one degrees of freedom 10 to 14.5%
    assert 0.025 <= rejected / n <= 0.08


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
    found = bias_by_length(gap, length, cluster, judge)
    assert (found.estimate, found.se) == pytest.approx(by_hand(gap, design, cluster))
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


def test_both_questions_of_a_judge_are_one_family():
    found = bias_by_length([0, 0.5, 1.4, 1.5], [1, 2, 4, 8], np.arange(4))
    tested = [replace(found, p=p, n_clusters=n) for p, n in ((0.03, 20), (0.01, 7))]
    first, second = corrected(tested)
    assert (first.p_holm, first.verdict) == (0.03, Verdict.ABOVE)
    assert (second.p_holm, second.verdict) == (0.02, Verdict.TOO_FEW)
    none = MissingResult("No.", "")
    assert corrected([none, replace(tested[0], p=0.06)])[1].verdict is Verdict.UNCLEAR
    assert corrected([none])[0] is none
