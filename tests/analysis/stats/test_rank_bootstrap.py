"""Intervals of mean rank correlations, against ranking every resample anew."""

import numpy as np
import pandas as pd
import pytest

from analysis.stats.crossed_bootstrap import mean_correlations, times_drawn


def slow_means(judges, other, times):
    """Both mean correlations of one resample, its items written out as often as they were drawn."""
    items = np.repeat(np.arange(judges.shape[1]), times.astype(int))
    matrix = pd.DataFrame(np.vstack([judges, other])[:, items].T).corr("spearman", min_periods=3)
    square = matrix.to_numpy()
    among = square[:-1, :-1][np.triu_indices(len(judges), 1)]
    return np.nanmean(among), np.nanmean(square[:-1, -1])


@pytest.mark.parametrize("missing", [False, True])
def test_intervals_of_the_means_are_those_of_correlations_ranked_anew_in_every_resample(missing):
    rng = np.random.default_rng(6)
    common = rng.normal(size=25)
    judges = np.round(common + rng.normal(size=(4, 25)), 1)
    other = rng.integers(0, 4, 25) / 3
    if missing:
        judges[1, :5] = judges[2, 20:] = other[3] = np.nan
    found = mean_correlations(judges, other, seed=2, resamples=60)
    times = times_drawn(np.random.default_rng(2), 60, 25)
    slow = np.array([slow_means(judges, other, t) for t in times])
    low, high = np.quantile(slow, [0.025, 0.975], axis=0)
    assert found.among == pytest.approx((low[0], high[0]), rel=1e-9)
    assert found.with_other == pytest.approx((low[1], high[1]), rel=1e-9)
