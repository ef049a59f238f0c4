"""Exact tests item by item, against SciPy and the textbook."""

import numpy as np
from scipy import stats

from analysis.stats.item_differences import fisher_p, item_differences


def test_p_is_that_of_scipys_fisher_exact_for_tables_of_all_sizes_at_once(monkeypatch):
    rng = np.random.default_rng(1)
    n, m = np.r_[1, 5, rng.integers(1, 900, 60)], np.r_[1, 1, rng.integers(1, 31, 60)]
    a, b = rng.binomial(n, 0.6), rng.binomial(m, 0.8)
    expected = [
        stats.fisher_exact([[w, x - w], [y, z - y]]).pvalue
        for w, x, y, z in zip(a, n, b, m, strict=True)
    ]
    np.testing.assert_allclose(fisher_p(a, n, b, m), expected, rtol=1e-10)
    np.testing.assert_allclose(fisher_p(b, m, a, n), expected, rtol=1e-10)
    monkeypatch.setattr("analysis.stats.item_differences.CHUNK", 100)
    np.testing.assert_allclose(fisher_p(a, n, b, m), expected, rtol=1e-10)


def test_corrections_are_those_of_the_textbook():
    found = item_differences([0, 5, 3, 2], [5, 5, 5, 5], [15, 15, 9, 13], [15, 15, 15, 15])
    order = np.argsort(found.p, kind="stable")
    p = found.p[order]
    holm = np.minimum(1, np.maximum.accumulate(p * np.arange(4, 0, -1)))
    bh = np.minimum(1, np.minimum.accumulate((p * 4 / np.arange(1, 5))[::-1])[::-1])
    np.testing.assert_allclose(found.holm_p[order], holm)
    np.testing.assert_allclose(found.q[order], bh)


def test_equal_chances_give_few_findings_and_true_differences_many():
    rng = np.random.default_rng(4)
    n, m = np.full(500, 40), np.full(500, 30)
    equal = item_differences(rng.binomial(40, 0.7, 500), n, rng.binomial(30, 0.7, 500), m)
    apart = item_differences(rng.binomial(40, 0.3, 500), n, rng.binomial(30, 0.9, 500), m)
    assert (equal.holm_p < 0.05).sum() == 0
    assert (equal.p < 0.05).mean() < 0.06
    assert (apart.holm_p < 0.05).mean() > 0.8
