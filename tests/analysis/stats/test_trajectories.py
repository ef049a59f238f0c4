"""Trajectories against a slow reading of each item."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats.flips import common_places
from analysis.stats.token_alignment import Streams
from analysis.stats.traces import trajectories
from tests.analysis.tokens import RISE, both_versions


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 40), st.integers(-9, 9)), min_size=1, max_size=6),
        min_size=1,
        max_size=6,
    )
)
def test_a_trajectory_is_the_last_difference_read_at_each_place(items):
    reads = [sorted(dict(item).items()) for item in items]
    rows = [(n, d, p / 40) for n, item in enumerate(reads) for p, d in item]
    places = pd.DataFrame(rows, columns=["item", "difference_nats", "place"])
    right = [n % 2 for n in range(len(items))]
    found = trajectories(places, right)
    assert len(found) == 21 * len(set(right))
    for decision, rows in found.groupby("decision"):
        some = [item for n, item in enumerate(reads) if n % 2 == (decision == "right")]
        for row in rows.itertuples():
            passed = [[0, *(d for p, d in item if p <= 40 * row.place + 1e-6)][-1] for item in some]
            assert row.n_items == len(some)
            assert row.mean_nats == pytest.approx(np.mean(passed))
            expected = np.percentile(passed, [25, 50, 75])
            assert [row.q1_nats, row.median_nats, row.q3_nats] == pytest.approx(list(expected))


def test_places_are_shares_of_the_original_and_decisions_unknown_have_no_trajectory():
    places = common_places(Streams(both_versions(RISE, size=99)))
    whole = "".join(s if isinstance(s, str) else s[0] for s in RISE)
    ends = [whole.index(word) + len(word) for word in (" far", "away.", "Mice", "slept", "too.")]
    np.testing.assert_allclose(places["place"], [*(e / len(whole) for e in ends), 1])
    assert trajectories(places, [np.nan]).empty
    assert trajectories(places.iloc[:0], []).empty
