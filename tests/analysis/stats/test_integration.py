"""Accuracies on single sentences and in foreign contexts."""

import numpy as np
import pandas as pd
import pytest

from analysis.stats.integration import isolated_accuracies, swapped_accuracies


def test_pooling_and_averaging_differ_where_abstracts_have_other_numbers_of_sentences():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"item": rng.integers(0, 9, 200), "points": rng.choice([0, 0.5, 1], 200)})
    rows = rows.assign(model=rng.integers(0, 3, 200)).sample(frac=1, random_state=1)
    found = isolated_accuracies(rows)
    for model, mine in rows.groupby("model"):
        shares = [mine.points[mine.item == i].mean() for i in set(mine.item)]
        assert found.loc[model, "pooled"] == pytest.approx(mine.points.mean())
        assert found.loc[model, "item_mean"] == pytest.approx(np.mean(shares))


def test_swaps_are_counted_by_seed():
    rows = pd.DataFrame({"model": [1, 1, 1], "seed": [5, 5, 6], "points": [1, 0.5, 1]})
    assert swapped_accuracies(rows).to_numpy().tolist() == [
        [1, 5, 2, 1, 1, 0.75],
        [1, 6, 1, 1, 0, 1.0],
    ]
