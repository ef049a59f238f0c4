"""The chapter on reaction times: the published values, NumPy and pandas, and times that were not measured."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.dataset import SourceData
from analysis.report.chapters.participants.results import (
    AnswerTimes,
    ReactionTimes,
    Times,
    build_reaction_times,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("reaction_times")

EXACT = 1e-9


def times_of(data: SourceData) -> Times:
    return results_of(data, CHAPTER).of(ReactionTimes).reaction_times


@pytest.fixture(scope="module")
def people(shared_dir: Path) -> pd.DataFrame:
    return pd.read_csv(shared_dir / "brainbench_results/human_results/data/participant_data.csv")


def test_published_reaction_times_are_pandas_description_of_the_file(published, people):
    rt = people.loc[people["journal_section"].str.startswith("human_"), "rt"]
    about = rt.describe(percentiles=[0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    found = times_of(published)
    quantiles = (found.q01, found.q05, *found.quartiles, found.q95, found.q99)
    shares = ["1%", "5%", "25%", "50%", "75%", "95%", "99%"]
    assert quantiles == pytest.approx(tuple(about[shares]), rel=EXACT)
    assert found.n == about["count"] == sum(b.n for b in found.histogram)
    for name in ("mean", "min", "max"):
        assert getattr(found, name) == pytest.approx(about[name], rel=EXACT)
    assert found.sd_log == pytest.approx(np.log(rt).std(), rel=EXACT)


def test_reaction_times_of_both_published_sources_are_those_published(published, reference, people):
    trials = pd.DataFrame(
        {"rt_ms": people["rt"].astype(float), "is_correct": people["correct"] == 1}
    )
    found = times_of(replace(published, trials=trials))
    known = reference["human_data"]
    quantiles = (found.q01, found.q05, *found.quartiles, found.q95, found.q99)
    shares = ("1%", "5%", "25%", "50%", "75%", "95%", "99%")
    assert quantiles == pytest.approx(tuple(known["rt_ms"][s] for s in shares), rel=EXACT)
    assert found.mean == pytest.approx(known["rt_ms"]["mean"], rel=EXACT)
    assert found.mean_log == pytest.approx(known["log_rt_mean"], rel=EXACT)
    assert found.sd_log == pytest.approx(known["log_rt_sd"], rel=EXACT)


@given(st.lists(st.floats(1, 1e8), min_size=1, max_size=30))
def test_each_time_lies_in_its_bin(small, times):
    trials = pd.DataFrame({"rt_ms": times, "is_correct": True})
    bins = build_reaction_times(replace(small, trials=trials)).results.reaction_times.histogram
    seconds = np.array(times) / 1000
    for row in bins:
        inside = (seconds >= row.low_s) & (seconds < row.high_s)
        near = np.isclose(seconds, row.low_s, rtol=1e-9) | np.isclose(
            seconds, row.high_s, rtol=1e-9
        )
        assert abs(row.n - inside.sum()) <= near.sum()
    assert sum(row.n for row in bins) == len(times)


def test_times_that_were_not_measured_are_counted_apart(small):
    times = small.trials["rt_ms"].copy()
    times.iloc[:3] = [np.nan, 0, -5]
    trials = small.trials.assign(rt_ms=times, is_correct=True)
    source = results_of(replace(small, trials=trials), CHAPTER)
    found = source.of(ReactionTimes).reaction_times
    assert (found.n, found.n_missing) == (len(trials) - 3, 3)
    assert found.by_correct[1] == AnswerTimes(is_correct=False, n=0)
    page, text = page_of(CHAPTER, source)
    assert "3 trials without a time" in text
    assert page.tables[0].rows[1][2] == "–"  # noqa: RUF001
    assert "without a time" in CHAPTER.figure_builders()["reaction_times"](source, {}).caption
    with pytest.raises(NotEnough, match="measured"):
        build_reaction_times(replace(small, trials=trials.assign(rt_ms=np.nan)))


def test_the_median_of_known_times_lies_in_its_interval(small):
    low, high = times_of(small).median_ci95
    assert low < np.exp(11) < high  # how the fixture draws them
    source = results_of(replace(small, trials=small.trials.iloc[:1]), CHAPTER)
    one = source.of(ReactionTimes).reaction_times
    assert (one.sd_log, one.median_ci95) == (None, None)
    assert "interval" not in CHAPTER.figure_builders()["reaction_times"](source, {}).caption
