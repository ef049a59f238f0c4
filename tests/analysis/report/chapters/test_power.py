"""The chapter on power: how many participants for an interval of a wanted width."""

from dataclasses import replace

import pytest

from analysis.report.chapter import SourceResults
from analysis.report.chapters.mixed_model.results import Fitted, Power, PowerAnalysis, build_power
from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.power import Components, Expected, Target
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("power")
CROSSED = chapter_named("crossed")

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
    page, text = page_of(CHAPTER, source_of(AIMS))
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
        AIMS,
        fitted=replace(AIMS.fitted, sd_items_ci95=None),
        targets=(Target(0.1, 66, None),),
    )
    page, text = page_of(CHAPTER, source_of(bare))
    assert "10 points wide 66." in text
    assert page.tables[0].rows[0][2:4] == ("–", "–")  # noqa: RUF001


def test_the_figure_marks_what_is_reached_hardly_reached_and_out_of_reach():
    figure = CHAPTER.figure_builders()["power"](source_of(AIMS), {})
    for label in ("10 points: 66 people", "4 points: hardly within", "2 points: needs 910"):
        assert label in figure.alt
    assert len(figure.table) == 2


def test_the_published_study_is_as_wide_as_a_simulated_one_of_its_size(published):
    found = results_of(published, CHAPTER).of(Power).power
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
