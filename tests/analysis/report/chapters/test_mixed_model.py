"""The chapter on the mixed model: crossed random intercepts, and the effect of confidence."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from analysis.codec import MissingResult
from analysis.report.chapter import SourceResults
from analysis.report.chapters.mixed_model.results import (
    Fitted,
    Mixed,
    Power,
    PowerAnalysis,
    RatioTest,
    build_mixed_model,
    build_power,
)
from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.mixed_model import Without
from analysis.stats.power import Components, Expected, Target
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

ACCURACY = chapter_named("accuracy")
CROSSED = chapter_named("crossed")
MIXED_MODEL = chapter_named("mixed_model")
POWER = chapter_named("power")


@pytest.fixture(autouse=True)
def one_thread():
    """As the report does: for matrices this small a second thread only waits."""
    with threadpool_limits(1):
        yield


def test_the_published_trials_vary_between_items_and_hardly_between_people(published):
    found = results_of(published, MIXED_MODEL).of(Mixed).mixed_model
    assert (found.n_trials, found.n_participants, found.n_items) == (1011, 171, 200)
    assert found.accuracy_marginal == pytest.approx(641 / 1011, abs=0.002)
    # Not 0, as Laplace has it: tests/analysis/stats/test_mixed_model_quadrature.py
    assert found.sd_participants == pytest.approx(0.162, abs=0.002)
    assert found.lrt.participants.p > 0.3
    assert found.sd_items == pytest.approx(0.722, abs=0.001)
    assert found.lrt.participants.without.sd_other == pytest.approx(0.719, abs=0.0005)
    assert found.sd_items_ci95[0] > 0.3
    slope = found.confidence.slope
    assert 0 < slope.ci95[0] < slope.estimate < slope.ci95[1]
    assert found.lrt.items.p < 0.001


def test_the_page_and_the_figure_show_both_standard_deviations_and_an_unknown_interval(small):
    source = results_of(small, ACCURACY, MIXED_MODEL)
    own = replace(
        source.of(Mixed).mixed_model, sd_items=0.5, sd_participants=0.7, sd_items_ci95=None
    )
    shown = SourceResults("human", {**source.results, Mixed: Mixed(own)})
    page, text = page_of(MIXED_MODEL, shown)
    assert "vary less than participants (SD 0.50 against 0.70 log-odds)" in text
    assert page.tables[0].rows[2][1:] == ("0.50", "–")  # noqa: RUF001
    figure = MIXED_MODEL.figure_builders()["mixed_model"](shown, {})
    assert figure.table["value"].tolist()[-2:] == [0.7, 0.5]
    assert np.isnan(figure.table["ci_low"].iloc[-1])
    assert len(figure.table) == 5


def test_the_page_says_what_follows_where_participants_may_not_vary(small):
    source = results_of(small, MIXED_MODEL)
    own = source.of(Mixed).mixed_model
    lrt = replace(own.lrt, participants=RatioTest(0.06, 0.4, Without(0.6, 0.719, -654.9)))
    some = replace(own, sd_participants=0.16, sd_participants_ci95=(0.0, 0.5), lrt=lrt)

    def text(found):
        return page_of(MIXED_MODEL, SourceResults("human", {Mixed: Mixed(found)}))[1]

    assert "SD of test cases is 0.719" in text(some)
    for clear in ({"sd_participants_ci95": (0.1, 0.5)}, {"sd_participants": 0.0}):
        assert "0.719" not in text(replace(some, **clear))


def test_partial_data_give_a_model_or_a_reason():
    data = make_data(seed=9)
    for value in (np.nan, 50.0):
        some = replace(data, trials=data.trials.assign(confidence=value))
        found = results_of(some, MIXED_MODEL).of(Mixed).mixed_model
        assert found.intercept
        assert isinstance(found.confidence, MissingResult)
    first = data.trials["item"].iloc[0]
    for trials in (
        data.trials.iloc[:0],
        data.trials.iloc[:1],
        data.trials[data.trials["item"] == first],
        data.trials[data.trials["participant"] == 0],
        data.trials.assign(is_correct=True),
    ):
        with pytest.raises(NotEnough):
            build_mixed_model(replace(data, trials=trials))


# --- The chapter on power: how many participants for an interval of a wanted width.


AIMS = PowerAnalysis(
    variances=Components(0.0, 0.1, 0.15),
    curve=tuple(
        Expected(n, width, width / 4, 0.9 * width, 1.2 * width)
        for n, width in ((25, 0.18), (400, 0.09))
    ),
    targets=(
        Target(0.1, 66, None, 62, 71),
        Target(0.05, 586, None, 322, None),
        Target(0.04, 13887, None, 647, None),
        Target(0.02, None, 912),
    ),
    floor_width=0.0395,
    trials_per_participant=6.0,
    n_items=200,
    method="By its variance.",
    fitted=Fitted(0.6, 0.0, 0.7, (0.4, 0.9), 171),
)


def source_of(found: PowerAnalysis) -> SourceResults:
    return SourceResults("human", {Power: Power(found)})


def test_the_page_rounds_numbers_of_participants_and_says_what_is_out_of_reach():
    page, text = page_of(POWER, source_of(AIMS))
    assert "10 points wide 66 (62 to 71)" in text
    assert "5 points wide 590 (320 at the lower end, out of reach at the upper)" in text
    near, beyond = (p for p in text.split("<p>") if "points are out of reach" in p)
    assert "about 650 participants" in near
    assert "14,000 as fitted" in near
    assert "at least 910 test cases" in beyond
    participants = [row[1] for row in page.tables[0].rows]
    assert participants == ["66", "590", "14,000", "out of reach"]


def test_without_an_interval_of_the_standard_deviation_no_range_is_shown():
    bare = replace(
        AIMS, fitted=replace(AIMS.fitted, sd_items_ci95=None), targets=(Target(0.1, 66, None),)
    )
    page, text = page_of(POWER, source_of(bare))
    assert "10 points wide 66." in text
    assert page.tables[0].rows[0][2:4] == ("–", "–")  # noqa: RUF001


def test_the_figure_marks_what_is_reached_hardly_reached_and_out_of_reach():
    figure = POWER.figure_builders()["power"](source_of(AIMS), {})
    for label in ("10 points: 66 people", "4 points: hardly within", "2 points: needs 910"):
        assert label in figure.alt
    assert len(figure.table) == 2


def test_the_published_study_is_as_wide_as_a_simulated_one_of_its_size(published):
    found = results_of(published, POWER).of(Power).power
    row = next(r for r in found.curve if r.n_participants == 171)
    humans = results_of(replace(published, resamples=2), CROSSED).of(Crossed).crossed.humans
    low, high = humans.errors.two_way_ci95
    assert row.ci_width == pytest.approx(high - low, rel=0.1)
    widths = [r.ci_width for r in found.curve]
    assert widths == sorted(widths, reverse=True)
    needed = [t.n_participants for t in found.targets if t.n_participants]
    assert needed == sorted(needed)
    assert found.trials_per_participant == pytest.approx(1011 / 171)


def test_without_a_fitted_model_there_is_no_power():
    data = make_data(seed=2)
    for trials in (data.trials.iloc[:0], data.trials.assign(is_correct=False)):
        with pytest.raises(NotEnough):
            build_power(replace(data, trials=trials))
