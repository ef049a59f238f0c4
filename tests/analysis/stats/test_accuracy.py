"""The top share by self-rated expertise: the published numbers, and its bounds against trying every order."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.accuracy import at_least_percentile, top_share

trials = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 3), st.booleans()), min_size=6, max_size=60
)


def test_the_published_trials_give_the_published_top_fifth(published, reference):
    rows, expected = published.trials, reference["human_overall"]["top20_per_item"]
    found = top_share(rows["item"], rows["expertise"], rows["is_correct"])
    assert (found.trials.n, found.trials.n_correct) == (130, 86)
    assert found.n_items_contributing == expected["n_items_contributing"]
    assert found.n_items_without == expected["n_items_with_zero"]
    assert found.trials.sem == pytest.approx(expected["sem_binomial"], rel=1e-9)
    assert found.mean_expertise == pytest.approx(expected["mean_expertise_of_selected"], rel=1e-9)
    for name in ("tie_min", "tie_max", "tie_expected", "ties_keep_last"):
        key = f"{name}_accuracy"
        assert getattr(found, key) == pytest.approx(expected[key], rel=1e-9)


def test_the_published_trials_give_the_published_global_percentile(published, reference):
    rows, expected = published.trials, reference["human_overall"]["alt_global_ge_p80"]
    threshold, found = at_least_percentile(rows["expertise"], rows["is_correct"])
    assert (threshold, found.n) == (expected["threshold"], expected["n"])
    assert found.accuracy == pytest.approx(expected["accuracy"], rel=1e-12)


@given(
    st.lists(st.tuples(st.integers(1, 2), st.booleans()), min_size=5, max_size=6),
    st.sampled_from([0.2, 0.5, 0.8]),
)
def test_tie_bounds_are_what_every_stored_order_gives(rows, share):
    level, right = np.array(rows).T
    found = top_share([0] * len(rows), level, right, share)
    orders = [list(order) for order in permutations(range(len(rows)))]
    every = [
        top_share([0] * len(rows), level[o], right[o], share).trials.accuracy
        for o in orders[:: max(1, len(orders) // 120)]
    ]
    assert min(every) >= found.tie_min_accuracy - 1e-12
    assert max(every) <= found.tie_max_accuracy + 1e-12
    if len(orders) == 120:
        assert min(every) == pytest.approx(found.tie_min_accuracy)
        assert max(every) == pytest.approx(found.tie_max_accuracy)
        assert np.mean(every) == pytest.approx(found.tie_expected_accuracy)


@given(trials)
def test_the_whole_share_is_everybody(rows):
    item, level, right = np.array(rows).T
    found = top_share(item, level, right, share=1.0)
    assert found.trials.n == len(rows)
    assert found.tie_min_accuracy == found.tie_max_accuracy == np.mean(right)


def test_unrated_trials_do_not_count():
    found = top_share([0] * 6, [1, 2, 3, 4, 5, np.nan], [0, 0, 0, 0, 1, 0])
    assert (found.trials.n, found.trials.accuracy) == (1, 1.0)
