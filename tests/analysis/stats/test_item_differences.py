"""Exact tests item by item, against SciPy and the textbook."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
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


def test_p_and_the_interval_never_contradict_each_other():
    """Fisher's test and Newcombe's interval alone do, either way."""
    rng = np.random.default_rng(12)
    share = rng.random(20_000)
    models = (rng.random((12, 20_000)) < share) - 0.5 * (rng.random((12, 20_000)) < 0.2)
    n = rng.integers(1, 41, 20_000)
    right = rng.binomial(n, rng.random(20_000))
    found = item_differences(right, n, np.abs(models))
    b, t = ((np.abs(models) == kind).sum(axis=0) for kind in (1.0, 0.5))
    tested = fisher_p(right, n, b, 12 - t)
    assert ((found.p < 0.05) == ((found.ci_low > 0) | (found.ci_high < 0))).all()
    assert ((tested < 0.05) & (found.p == 0.05)).any()
    assert ((tested >= 0.05) & ((found.ci_low == 0) | (found.ci_high == 0))).any()
    np.testing.assert_allclose(found.p[found.p != 0.05], tested[found.p != 0.05])


def test_corrections_are_those_of_the_textbook():
    models = np.random.default_rng(3).random((15, 12)) < np.tile([1, 1, 0.6, 0.9], 3)
    found = item_differences(np.tile([0, 5, 3, 2], 3), np.full(12, 5), models)
    order = np.argsort(found.p, kind="stable")
    p = found.p[order]
    holm = np.minimum(1, np.maximum.accumulate(p * np.arange(12, 0, -1)))
    bh = np.minimum(1, np.minimum.accumulate((p * 12 / np.arange(1, 13))[::-1])[::-1])
    np.testing.assert_allclose(found.holm_p[order], holm)
    np.testing.assert_allclose(found.q[order], bh)


def test_equal_chances_give_few_findings_and_true_differences_many():
    rng = np.random.default_rng(4)
    n, of_models = np.full(500, 40), rng.random((30, 500))
    equal = item_differences(rng.binomial(40, 0.7, 500), n, of_models < 0.7)
    apart = item_differences(rng.binomial(40, 0.3, 500), n, of_models < 0.9)
    assert (equal.holm_p < 0.05).sum() == 0
    assert (equal.p < 0.05).mean() < 0.06
    assert (apart.holm_p < 0.05).mean() > 0.8


@given(st.data())
def test_copies_names_and_order_of_models_change_no_verdict(data):
    n_models, n_items = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    points = rng.choice([0.0, 0.5, 1.0, np.nan], (n_models, n_items), p=[0.2, 0.1, 0.6, 0.1])
    points[0] = 1.0
    n = rng.integers(1, 30, n_items)
    right = rng.binomial(n, 0.3)
    twice = rng.permutation(np.repeat(points, rng.integers(1, 4, n_models), axis=0))
    one, other = (item_differences(right, n, models) for models in (points, twice))
    for name in ("n_models", "models", "difference", "ci_low", "ci_high", "p", "q", "holm_p"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_model_that_is_entered_twice_finds_no_more():
    rng = np.random.default_rng(7)
    points = (rng.random((15, 200)) < 0.81).astype(float)
    n = np.full(200, 5)
    right = rng.binomial(n, rng.beta(1.5, 0.9, 200))
    one, twice = (item_differences(right, n, np.repeat(points, k, axis=0)) for k in (1, 2))
    assert (one.q < 0.05).sum() == (twice.q < 0.05).sum() > 0
    # What counting copies would give
    counted = fisher_p(right, n, 2 * points.sum(axis=0).astype(int), np.full(200, 30))
    assert (stats.false_discovery_control(counted) < 0.05).sum() > (one.q < 0.05).sum()
