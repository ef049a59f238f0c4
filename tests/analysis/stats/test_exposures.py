"""How often each item was judged, against pandas."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.distributions import exposures


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_exposures_count_every_item_once(counts):
    found = exposures(counts)
    assert sum(b.items for b in found.histogram) == found.n_items == len(counts)
    assert sum(b.items * b.n for b in found.histogram) == sum(counts)
    assert found.sd == (pytest.approx(pd.Series(counts).std()) if len(counts) > 1 else None)
