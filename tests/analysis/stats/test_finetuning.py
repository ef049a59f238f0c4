"""Two models compared on the same items, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.finetuning import compare


def scores(seed, n=30):
    rng = np.random.default_rng(seed)
    return rng.gamma(9, 1, (n, 2)), rng.gamma(8, 1, (n, 2))


def test_decisions_and_perplexities_are_compared_by_mcnemars_and_students_tests():
    before, after = scores(1)
    found = compare(before, after)
    right, then = before[:, 0] < before[:, 1], after[:, 0] < after[:, 1]
    gained, lost = int(np.sum(then & ~right)), int(np.sum(right & ~then))
    assert found.mcnemar.p == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)
    t = stats.ttest_rel(before[:, 0], after[:, 0])
    assert (found.ppl_correct.t, found.ppl_correct.p) == pytest.approx((t.statistic, t.pvalue))
    signed = stats.ttest_rel(before[:, 0] - before[:, 1], after[:, 0] - after[:, 1])
    assert found.signed_difference.t == pytest.approx(signed.statistic)
    assert found.before.accuracy == right.mean()


def test_a_tie_is_a_wrong_decision():
    found = compare([[2, 2], [1, 3], [1, 2]], [[2, 2.5], [1, 3], [1, 2]])
    assert (found.before.n_correct, found.after.n_correct) == (2, 3)
