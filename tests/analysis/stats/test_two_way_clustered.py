"""Two-way clustered errors, against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm

from analysis.stats.two_way_clustered import two_way
from tests.analysis.made import arrays, make_data


def test_the_two_way_error_is_that_of_statsmodels_two_way_clustering():
    data = make_data(seed=4, n_participants=60, n_items=25, sd_participants=1.5, sd_items=1.5)
    who, item, right = arrays(data)
    model = sm.OLS(right, np.ones(len(right)))
    clustered = model.fit(cov_type="cluster", cov_kwds={"groups": np.column_stack([who, item])})
    assert two_way(who, item, right).se == pytest.approx(clustered.bse[0], rel=1e-9)


def test_the_difference_from_models_pairs_them_with_people_on_the_same_items():
    """Humans who answer as the models do, item by item, differ from them by nothing at all."""
    share = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    who, item = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    found = two_way(who, item, share[item], share)
    alone = two_way(who, item, share[item])
    assert found.estimate == pytest.approx(0, abs=1e-12)
    assert found.se < alone.se
    assert two_way(who, item, share[item], np.full(6, 0.5)).se == pytest.approx(alone.se)
