"""Bins and lines along confidence: the published ones, and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import NotEnough
from analysis.stats.calibration import binned, line


def model_scores(data):
    for model in data.set_models:
        yield data.models["name"].iloc[model], np.abs(data.difficulty[model]), data.model_correct[model]  # fmt: skip


def everybody(data):
    yield from model_scores(data)
    yield "human", data.trials["confidence"], data.trials["is_correct"]


def test_bins_and_lines_are_the_published_ones(published, reference):
    expected = {**reference["calibration"]["llm"], "human": reference["calibration"]["human"]}
    for name, score, right in everybody(published):
        found, known = binned(score, right), expected[name]
        assert [b.n for b in found.bins] == known["bin_counts"]
        assert [b.accuracy for b in found.bins] == pytest.approx(known["bin_accuracy"], rel=1e-12)
        assert [b.midpoint for b in found.bins] == pytest.approx(known["bin_midpoints"], rel=1e-12)
        fit = known["regression_on_rank_midpoint"]
        values = (found.line.slope, found.line.intercept, found.line.r, found.line.p)
        keys = ("slope", "intercept", "r", "p")
        assert values == pytest.approx([fit[key] for key in keys], rel=1e-9)
        assert found.line.slope_se == pytest.approx(fit["stderr"], rel=1e-9)
        assert found.line.intercept_se == pytest.approx(fit["intercept_stderr"], rel=1e-9)


def test_the_line_and_its_interval_are_ordinary_least_squares():
    x, y = np.arange(6.0), np.array([0.4, 0.6, 0.5, 0.7, 0.6, 0.9])
    found, fit = line(x, y), sm.OLS(y, sm.add_constant(x)).fit()
    assert (found.intercept, found.slope) == pytest.approx(tuple(fit.params))
    assert found.slope_ci95 == pytest.approx(tuple(fit.conf_int()[1]))
    assert found.p == pytest.approx(fit.pvalues[1])


@given(st.integers(3, 25), st.integers(0, 200), st.integers(0, 1000))
def test_bins_lie_between_equally_spaced_edges_and_ignore_order_and_scale(bins, more, seed):
    rng, n = np.random.default_rng(seed), bins + more
    score, right = rng.permutation(n).astype(float), rng.random(n) < 0.6
    found = binned(score, right, bins)
    edges = [k * n / bins for k in range(bins + 1)]
    assert [b.n for b in found.bins] == np.histogram(np.arange(n) + 1e-6, edges)[0].tolist()
    assert sum(b.n_correct for b in found.bins) == right.sum()
    order = rng.permutation(n)
    again = binned(np.exp(score / n)[order], right[order], bins)
    assert again.line == found.line


def test_all_correct_gives_a_level_line_without_a_correlation():
    found = binned(np.arange(40), np.ones(40)).line
    assert (found.slope, found.intercept) == (0.0, 1.0)
    assert np.isnan([found.r, found.p]).all()


def test_too_few_or_equal_confidences_are_not_binned():
    with pytest.raises(NotEnough, match="there are 19"):
        binned([*range(19), np.nan], [True] * 20)
    with pytest.raises(NotEnough, match="same"):
        binned([50] * 40, [True] * 40)
    with pytest.raises(ValueError, match="three bins"):
        binned([1, 2], [0, 1], 2)
