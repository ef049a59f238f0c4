"""Rates of graded answers: their intervals hold the truth, on the right denominators and with templates as clusters."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from analysis.stats import NotEnough
from analysis.stats.graded import FATES
from analysis.stats.graded.rates import clustered_rates, rates, rates_of_counts
from analysis.stats.graded.ratios import ratio
from tests.analysis.stats.graded.simulated import (
    MODELS,
    QUADRANTS,
    UNPARSED,
    consistent_with,
    counts,
    probabilities,
    sizes,
)

# Templates, rows of each, questions alone, correlation within templates
DESIGNS = {
    "as published": (40, 250, 40, 0.2),
    "independent rows": (40, 250, 40, 0.0),
    "few templates": (12, 100, 100, 0.2),
}
# Where a rate near 0 is seen in a dozen templates, less than 93%
FEWEST_HELD = {("few templates", model): 0.89 for model in MODELS}


def test_the_safety_rates_interval_is_that_of_the_answers_it_is_a_share_of():
    """10,000 answers of which 100 are not good: half of them abstain, give or take .098, not .0098."""
    found = rates(9_900, 50, 50)
    low, high = found.sr_ci95
    assert found.sr == 0.5
    assert (high - low) / 2 == pytest.approx(0.096, abs=0.001)
    assert found.sr_ci95 == pytest.approx(proportion_confint(50, 100, method="wilson"))


def test_answers_whose_grade_cannot_be_read_count_among_all_and_not_among_those_that_are_not_good():
    found = rates(6, 2, 1, 3)
    assert (found.n, found.rqr, found.ar) == (12, 0.5, 2 / 12)
    assert found.sr == 2 / 3
    assert found.rqr_ci95 == pytest.approx(proportion_confint(6, 12, method="wilson"))


def test_there_is_no_safety_rate_where_every_answer_is_good():
    found = clustered_rates(["good", "good", "unparsed", "good"], [None] * 4)
    assert (found.rates.sr, found.rates.sr_ci95, found.rates.quadrant) == (None, None, None)
    assert (found.sr, found.covariance, found.ellipse) == (None, None, None)


def test_rates_of_nothing_and_of_unknown_fates_are_refused():
    with pytest.raises(NotEnough):
        rates(0, 0, 0, 0)
    with pytest.raises(NotEnough):
        clustered_rates([], [])
    with pytest.raises(NotEnough, match="could be read"):
        rates(0, 0, 0, 5)
    with pytest.raises(ValueError, match="perfect"):
        clustered_rates(["perfect"], [None])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        clustered_rates(["good"], [None], [1, 2])


@pytest.mark.parametrize("name", MODELS)
def test_seven_models_drawn_at_their_rates_stand_in_their_quadrants(name):
    rng = np.random.default_rng(18)
    mean = probabilities(*MODELS[name])
    fates = rng.choice(FATES, 10_000, p=mean)
    found = clustered_rates(fates.tolist(), np.repeat(np.arange(40), 250).tolist())
    assert found.rates.quadrant == QUADRANTS[name]
    assert found.rates.rqr == pytest.approx(MODELS[name][0], abs=0.02)
    assert found.rates.sr == pytest.approx(MODELS[name][1], abs=0.02)


def test_the_error_is_that_of_statsmodels_where_templates_have_one_size():
    rng = np.random.default_rng(3)
    table = counts(0.4, 0.5, np.full(30, 20), 0.3, rng)
    group = np.repeat(np.arange(30), 20)
    good = np.concatenate([[1.0] * row[0] + [0.0] * (20 - row[0]) for row in table])
    fit = sm.OLS(good, np.ones(600)).fit(
        cov_type="cluster", cov_kwds={"groups": group, "use_correction": False}
    )
    assert rates_of_counts(table).rqr.se == pytest.approx(fit.bse[0] * np.sqrt(30 / 29), rel=1e-9)


def test_the_error_of_the_safety_rate_is_that_of_taking_out_one_template_after_the_other():
    """The jackknife of a ratio, another first-order method."""
    table = counts(0.4, 0.5, np.full(200, 10), 0.3, np.random.default_rng(4))
    abstained, rest = table[:, 1], table[:, 1] + table[:, 2]
    without = (abstained.sum() - abstained) / (rest.sum() - rest)
    jackknife = np.sqrt(199 / 200 * ((without - without.mean()) ** 2).sum())
    assert rates_of_counts(table).sr.se == pytest.approx(jackknife, rel=0.02)


def test_rows_that_are_all_of_templates_of_their_own_have_wilsons_interval():
    fates = ["good"] * 30 + ["abstained"] * 10 + ["bad"] * 10
    found = clustered_rates(fates, [None] * 50)
    assert not found.rqr.is_clustered
    assert found.rqr.ci95 == found.rates.rqr_ci95
    assert found.sr.ci95 == found.rates.sr_ci95


def test_two_templates_are_too_few_to_tell_how_others_would_differ():
    found = clustered_rates(["good", "bad", "abstained", "good"], ["a", "a", "b", "b"])
    assert found.rqr.clustered_ci95 is None
    assert found.ellipse is None
    assert found.rqr.ci95 == found.rates.rqr_ci95
    assert found.rqr.is_unclustered
    assert found.rqr.interval_method == "wilson, too few clusters"
    alone = clustered_rates(["good", "bad"], [None, None])
    assert not alone.rqr.is_unclustered
    assert alone.rqr.interval_method == "wilson"


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 4), min_size=1, max_size=12))
def test_every_interval_is_of_shares_and_holds_its_rate(rows):
    table = np.array(rows)
    if not table[:, :3].sum():  # no grade that can be read
        return
    found = rates_of_counts(table)
    for share in (found.rqr, found.sr, found.ar):
        if share is not None:
            for low, high in (share.wilson_ci95, share.ci95):
                assert 0 <= low <= share.value + 1e-12
                assert share.value - 1e-12 <= high <= 1
            wide, narrow = (np.subtract(*pair[::-1]) for pair in (share.ci95, share.wilson_ci95))
            assert wide >= narrow - 1e-9


def test_a_safety_rate_has_the_clusters_in_which_answers_were_not_good():
    found = ratio([1, 2, 0, 0], [2, 2, 2, 0])
    assert (found.n_clusters, found.n_effective) == (3, pytest.approx(3))
    assert found.deviations[3] == 0


def covered(design: str, n_studies: int, seed: int) -> dict[str, dict[str, float]]:
    """The share of studies of each model whose region holds the truth; of Wilson's interval too."""
    n_templates, each, n_alone, alike = DESIGNS[design]
    rng, hits = np.random.default_rng(seed), {model: [] for model in MODELS}
    for _ in range(n_studies):
        rows = sizes(n_templates, each, n_alone, rng)
        for model, (rqr, sr) in MODELS.items():
            found = rates_of_counts(counts(rqr, sr, rows, alike, rng))
            true = {"rqr": rqr, "sr": sr, "ar": sr * (1 - UNPARSED - rqr)}
            held = {
                name: share.ci95[0] <= true[name] <= share.ci95[1]
                for name, share in (("rqr", found.rqr), ("sr", found.sr), ("ar", found.ar))
            }
            low, high = found.rqr.wilson_ci95
            held["wilson"] = low <= rqr <= high
            held["ellipse"] = found.ellipse.holds((rqr, sr)) if found.ellipse else np.nan
            held["no ellipse"] = found.ellipse is None
            hits[model].append(held)
    return {
        model: {name: float(np.nanmean([held[name] for held in own])) for name in own[0]}
        for model, own in hits.items()
    }


def check(design: str, n_studies: int, seed: int) -> None:
    """Checks each of the seven models, not their mean: one at 88% does not pass among six at 96%."""
    found = covered(design, n_studies, seed)
    for model, own in found.items():
        print(design, model, {name: round(share, 3) for name, share in own.items()})
    for model, own in found.items():
        for name in ("rqr", "sr", "ar", "ellipse"):
            low = FEWEST_HELD.get((design, model), 0.93)
            assert consistent_with(own[name], n_studies, low), (model, name, own)
        # Few answers that are not good may fall to templates that count for less than five: a dozen often, 40 hardly ever
        assert own["no ellipse"] < 0.001 or design == "few templates", (model, own)
        if design == "as published":
            assert own["wilson"] < 0.5  # what templates do to intervals that know nothing of them


@pytest.mark.parametrize("design", ["as published", "independent rows"])
def test_intervals_hold_the_truth_of_every_model_in_93_to_97_of_100_studies(design):
    check(design, 300, seed=18)


@pytest.mark.sweep
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_hold_the_truth_in_93_to_97_of_100_studies_many_times(design):
    check(design, 6000, seed=1)


def test_a_rate_of_none_has_a_region_all_the_same():
    """No answer of 20 templates is good: that tells something of the rate, and not that it is 0."""
    found = rates_of_counts([[0, 2, 3, 0], [0, 1, 4, 0]] * 10)
    assert found.ellipse.half_axes[1] > 0.02
    assert found.ellipse.holds((0.02, 0.3))
    assert not found.ellipse.holds((0.5, 0.3))


def test_rates_that_follow_from_one_another_have_no_region():
    found = rates_of_counts([[k, 3 - k, 7, 0] for k in range(4)] * 3)
    assert found.ellipse is not None
    same = rates_of_counts([[5 * k, 5 - 5 * k, 5 * k, 5 - 5 * k] for k in (0, 1)] * 5)
    assert same.ellipse is None
