"""The area under a curve, against counting pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.memorisation import auc

NUMBERS = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


@given(NUMBERS, NUMBERS)
def test_the_area_counts_pairs(x, y):
    pairs = [(a > b) + (a == b) / 2 for a in x for b in y]
    assert auc(x, y) == pytest.approx(np.mean(pairs))
    assert auc(x, y) + auc(y, x) == pytest.approx(1)
