"""The paper's Table S3."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats import MissingResult
from analysis.stats.calibration import SAME
from analysis.stats.table_s3 import ONE_KIND, table_s3
from tests.analysis.made import everybody


def test_table_s3_is_the_printed_one(published, reference):
    rows = table_s3([(score, right) for _, score, right in everybody(published)])
    for name, row in zip([*published.models["name"][:15], "human"], rows, strict=True):
        known = reference["logistic_fits"][name]
        assert row.coefs == pytest.approx(known["coefs"], abs=0.01)
        assert row.intercepts == pytest.approx(known["intercepts"], abs=0.01)
        for key in ("coef_mean", "coef_sem", "intercept_mean", "intercept_sem"):
            assert getattr(row, key) == pytest.approx(known[key], abs=0.01)
        # With the same solver; the tolerance of the coefficients would let t move by more
        assert row.t == pytest.approx(known["t"], abs=0.01)
        assert row.p == pytest.approx(known["p_two_sided"], rel=0.01)
        test = stats.ttest_1samp(row.coefs, 0)
        assert (row.t, row.p) == pytest.approx((test.statistic, test.pvalue), rel=1e-9)


def test_a_row_of_table_s3_that_cannot_be_fitted_still_draws_its_numbers(small):
    group = (small.trials["confidence"], small.trials["is_correct"])
    hopeless = (small.trials["confidence"], np.ones(len(small.trials)))
    (nothing, after), (_, second) = table_s3([hopeless, group]), table_s3([group, group])
    assert nothing == MissingResult(*ONE_KIND)
    assert after == second
    few, alike = table_s3([([], []), ([1.6] * 26, [1, 0] * 13)])
    assert "fewer than 20" in few.reason
    assert alike == MissingResult(*SAME)
