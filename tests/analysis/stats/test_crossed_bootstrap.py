"""Resamples of participants and items, against the definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats.crossed_bootstrap import (
    crossed_bootstrap,
    mean_correlations,
    spread,
    times_drawn,
    two_sided_p,
)
from analysis.stats.two_way_clustered import two_way
from tests.analysis.made import arrays, make_data


def by_hand(who, item, right, models, resamples, seed):
    """The definition, pair by pair: every drawn person meets every drawn item."""
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)]
    people = streams[0].integers(0, who.max() + 1, (resamples, who.max() + 1))
    items = streams[1].integers(0, models.shape[1], (resamples, models.shape[1]))
    answers = {(p, i): y for p, i, y in zip(who, item, right, strict=True)}
    found = [
        [answers[p, i] for p in drawn for i in seen if (p, i) in answers]
        for drawn, seen in zip(people, items, strict=True)
    ]
    return [np.mean(y) if y else np.nan for y in found], models[:, items].mean(axis=2).T


def test_a_resample_is_every_drawn_participant_with_every_drawn_item():
    data = make_data(seed=5, n_participants=7, n_items=6, trials_each=3)
    who, item, right = arrays(data)
    models = data.model_correct
    drawn = crossed_bootstrap(who, item, right, models, resamples=40, seed=3)
    humans, accuracies = by_hand(who, item, right, models, 40, 3)
    np.testing.assert_allclose(drawn.humans, humans, rtol=1e-12)
    np.testing.assert_allclose(drawn.models, accuracies, rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.randoms(use_true_random=False))
def test_neither_the_chunk_nor_the_order_of_trials_alters_a_resample(chunk, random):
    data = make_data(seed=6, n_participants=12, n_items=9, trials_each=4)
    who, item, right = arrays(data)
    order = np.array(random.sample(range(len(who)), len(who)))
    one = crossed_bootstrap(who, item, right, data.model_correct, resamples=50, seed=1)
    other = crossed_bootstrap(
        who[order], item[order], right[order], data.model_correct, resamples=50, seed=1, chunk=chunk
    )
    for name in ("humans", "people_only", "items_only", "models"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_the_pigeonhole_bootstrap_counts_the_noise_of_trials_three_times():
    """Owen 2007: without effects of people and items its variance is three times the true one, in a balanced sparse design."""
    data = make_data(
        seed=2, n_participants=300, n_items=300, trials_each=10, sd_participants=0, sd_items=0
    )
    who, item, right = arrays(data)
    drawn = crossed_bootstrap(who, item, right, data.model_correct, resamples=3000, seed=1)
    binomial = np.sqrt(right.mean() * (1 - right.mean()) / len(right))
    assert spread(drawn.humans).se / binomial == pytest.approx(np.sqrt(3), rel=0.08)
    assert two_way(who, item, right).se / binomial == pytest.approx(1, rel=0.1)


def test_models_alone_vary_as_a_share_of_the_items():
    data = make_data(seed=2, n_items=150)
    drawn = crossed_bootstrap(*arrays(data), data.model_correct, resamples=6000, seed=1)
    p = data.model_correct.mean(axis=1)
    np.testing.assert_allclose(drawn.models.std(axis=0), np.sqrt(p * (1 - p) / 150), rtol=0.05)


def test_a_p_value_counts_the_rarer_side():
    assert two_sided_p(np.array([-1.0, 1, 2, 3, 4, 5, 6, 7, 8])) == pytest.approx(0.4)
    assert two_sided_p(np.array([])) is None
    assert spread(np.array([1.0])).ci95 is None


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


def test_a_correlation_that_hangs_on_one_item_has_no_interval():
    """A third of the resamples lack the one item that differs; the others alone gave -.89 to -.50, without 0."""
    judge, steps = [0.0] + [1.0] * 8, list(range(9))
    found = mean_correlations([steps, judge], [*steps[4:], *steps[:4]], seed=1)
    assert found.among is None
    assert mean_correlations([steps, [*steps[5:], *steps[:5]]], steps, seed=1).among is not None
