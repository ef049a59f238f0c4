"""Two models compared on the same texts, against SciPy and statsmodels."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.anova import AnovaRM

from analysis.stats.finetuning import compare, compare_texts


def scores(seed, n=30):
    rng = np.random.default_rng(seed)
    return rng.gamma(9, 1, (n, 2)), rng.gamma(8, 1, (n, 2))


def test_decisions_and_perplexities_are_compared_by_mcnemars_and_students_tests():
    before, after = scores(1)
    found = compare(before, after)
    right, then = before[:, 0] < before[:, 1], after[:, 0] < after[:, 1]
    gained, lost = int(np.sum(then & ~right)), int(np.sum(right & ~then))
    assert found.decided.mcnemar.p == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)
    t = stats.ttest_rel(before[:, 0], after[:, 0])
    assert (found.ppl_correct.t, found.ppl_correct.p) == pytest.approx((t.statistic, t.pvalue))
    signed = stats.ttest_rel(before[:, 0] - before[:, 1], after[:, 0] - after[:, 1])
    assert found.signed_difference.t == pytest.approx(signed.statistic)
    assert found.decided.before.accuracy == right.mean()


def test_a_tie_is_a_wrong_decision():
    found = compare([[2, 2], [1, 3], [1, 2]], [[2, 2.5], [1, 3], [1, 2]])
    assert (found.decided.before.n_correct, found.decided.after.n_correct) == (2, 3)


def test_each_versions_change_in_nats_is_students_on_logarithms_and_their_difference_the_interaction():
    before, after = scores(2)
    found = compare(before, after).nats
    for test, column in ((found.original, 0), (found.altered, 1)):
        expected = stats.ttest_rel(np.log(before[:, column]), np.log(after[:, column]))
        interval = expected.confidence_interval()
        assert (test.t, test.p) == pytest.approx((expected.statistic, expected.pvalue))
        assert test.ci95 == pytest.approx((interval.low, interval.high))
    # In a two-by-two analysis of variance with repeated measures the interaction's F is t squared
    n = len(before)
    long = pd.DataFrame(
        {
            "item": np.tile(np.arange(n), 4),
            "when": np.repeat(["before", "after"], 2 * n),
            "version": np.tile(np.repeat(["original", "altered"], n), 2),
            "loss": np.log(np.concatenate([before.T.ravel(), after.T.ravel()])),
        }
    )
    table = AnovaRM(long, "loss", "item", within=["when", "version"]).fit().anova_table
    assert found.interaction.t**2 == pytest.approx(table.loc["when:version", "F Value"])
    assert found.interaction.p == pytest.approx(table.loc["when:version", "Pr > F"])


def test_a_model_that_halves_all_perplexities_has_learned_nothing_that_tells_versions_apart():
    before, _ = scores(3)
    found = compare(before, before / 2 + 1e-9 * np.arange(30)[:, None])
    assert found.decided.mcnemar.gained == found.decided.mcnemar.lost == 0
    assert found.nats.interaction.mean_difference == pytest.approx(0, abs=1e-7)
    # The difference of perplexities is halved with them
    half = (before[:, 0] - before[:, 1]).mean() / 2
    assert found.signed_difference.mean_difference == pytest.approx(half)


def test_reference_texts_are_compared_by_their_mean_loss():
    before, after = (perplexities[:, 0] for perplexities in scores(4))
    found = compare_texts(before, after)
    expected = stats.ttest_rel(np.log(before), np.log(after))
    assert (found.fall.t, found.fall.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.before.mean == pytest.approx(np.log(stats.gmean(before)))
    low, high = stats.t.interval(0.95, 29, np.log(after).mean(), stats.sem(np.log(after)))
    assert found.after.ci95 == pytest.approx((low, high))
