"""Score intervals of accuracies with ties."""

import numpy as np
import pytest

from analysis.stats.estimates import wilson
from analysis.stats.score_intervals import with_ties


@pytest.mark.parametrize("z", [0.0, 1e-9, 1.0, 1.96, 30.0, 1e6])
@pytest.mark.parametrize("counts", [(0, 10, 10), (3.2, 9.9, 0.4), (0, 10, 1e-9), (10, 10.5, 0.5)])
def test_an_interval_exists_and_holds_the_estimate_at_any_level(counts, z):
    right, n, ties = counts
    low, high = with_ties(right, n, ties, z)
    assert 0 <= low <= (right + ties / 2) / n + 1e-12
    assert (right + ties / 2) / n - 1e-12 <= high <= 1


def test_hardly_any_ties_give_wilsons_interval():
    assert with_ties(30, 40, 1e-7, 1.959963984540054) == pytest.approx(
        [float(end) for end in np.ravel(wilson(30, 40))], abs=1e-6
    )


def test_sides_can_be_exchanged():
    low, high = with_ties(12, 40, 20, 2.1)
    assert with_ties(8, 40, 20, 2.1) == pytest.approx((1 - high, 1 - low), abs=1e-9)
