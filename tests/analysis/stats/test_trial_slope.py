"""Slopes over trials, against statsmodels and what an audit found in the published data."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from analysis.stats.trial_slope import Direction, trial_slope
from tests.analysis.made import make_data


def columns(rows, name="expertise"):
    return (rows[key].to_numpy() for key in (name, "is_correct", "participant", "item"))


def test_the_published_slope_on_expertise_is_the_audits(published):
    found, _ = trial_slope(*columns(published.trials))
    assert (found.n, found.n_participants, found.n_items) == (1011, 171, 200)
    assert found.slope == pytest.approx(0.01004, abs=5e-6)
    assert found.by_participant_p == pytest.approx(0.0002, abs=5e-6)
    assert found.p == pytest.approx(0.0003, abs=2e-5)
    assert Direction.of(found.slope, found.p) is Direction.RISES


def test_both_errors_are_those_of_statsmodels():
    rows = make_data(
        seed=3, n_participants=60, n_items=25, sd_participants=1.5, sd_items=1.5
    ).trials  # fmt: skip
    _, right, who, item = columns(rows)
    score = (
        who % 7 + item % 5.0
    )  # of person and item, so that neither clustering lowers the variance
    model = sm.Logit(right.astype(float), sm.add_constant(score))

    def fit(groups):
        return model.fit(disp=False, cov_type="cluster", cov_kwds={"groups": groups})

    found, each = trial_slope(score, right, who, item)
    both, person = fit(np.column_stack([who, item])), fit(who)
    assert found.slope == pytest.approx(both.params[1], rel=1e-7)
    assert found.se == pytest.approx(both.bse[1], rel=1e-6)
    assert found.by_participant_se == pytest.approx(person.bse[1], rel=1e-6)
    assert each.shape == (60,)
    assert each.sum() == pytest.approx(0, abs=1e-9)


def test_the_interval_holds_no_slope_19_times_in_20_and_one_that_is_there_is_seen():
    rng = np.random.default_rng(6)
    who, item = np.repeat(np.arange(60), 8), np.concatenate([rng.permutation(40)[:8] for _ in range(60)])  # fmt: skip
    date, held = rng.normal(size=40), 0
    for _ in range(300):
        ease = 0.5 * rng.normal(size=60)[who] + 0.8 * rng.normal(size=40)[item]
        found, _ = trial_slope(date[item], rng.random(480) < expit(0.6 + ease), who, item)
        held += found.ci95[0] < 0 < found.ci95[1]
    # 300 draws: standard error 1.3 points; sandwiches of 40 clusters are a little too narrow
    assert 0.90 <= held / 300 <= 0.98
    strong, _ = trial_slope(date[item], rng.random(480) < expit(-1.5 * date[item]), who, item)
    assert Direction.of(strong.slope, strong.p) is Direction.FALLS
