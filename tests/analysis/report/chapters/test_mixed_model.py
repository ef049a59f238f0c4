"""The chapter on the mixed model: crossed random intercepts, and the effect of confidence."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from analysis.codec import MissingResult
from analysis.report.chapter import SourceResults
from analysis.report.chapters.mixed_model.results import Mixed, RatioTest, build_mixed_model
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.mixed_model import Without
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

ACCURACY = chapter_named("accuracy")
CHAPTER = chapter_named("mixed_model")


@pytest.fixture(autouse=True)
def one_thread():
    """As the report does: for matrices this small a second thread only waits."""
    with threadpool_limits(1):
        yield


def test_the_published_trials_vary_between_items_and_hardly_between_people(published):
    found = results_of(published, CHAPTER).of(Mixed).mixed_model
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
    source = results_of(small, ACCURACY, CHAPTER)
    own = replace(
        source.of(Mixed).mixed_model, sd_items=0.5, sd_participants=0.7, sd_items_ci95=None
    )
    shown = SourceResults("human", {**source.results, Mixed: Mixed(own)})
    page, text = page_of(CHAPTER, shown)
    assert "vary less than participants (SD 0.50 against 0.70 log-odds)" in text
    assert page.tables[0].rows[2][1:] == ("0.50", "–")  # noqa: RUF001
    figure = CHAPTER.figure_builders()["mixed_model"](shown, {})
    assert figure.table["value"].tolist()[-2:] == [0.7, 0.5]
    assert np.isnan(figure.table["ci_low"].iloc[-1])
    assert len(figure.table) == 5


def test_the_page_says_what_follows_where_participants_may_not_vary(small):
    source = results_of(small, CHAPTER)
    own = source.of(Mixed).mixed_model
    lrt = replace(own.lrt, participants=RatioTest(0.06, 0.4, Without(0.6, 0.719, -654.9)))
    some = replace(own, sd_participants=0.16, sd_participants_ci95=(0.0, 0.5), lrt=lrt)

    def text(found):
        return page_of(CHAPTER, SourceResults("human", {Mixed: Mixed(found)}))[1]

    assert "SD of test cases is 0.719" in text(some)
    for clear in ({"sd_participants_ci95": (0.1, 0.5)}, {"sd_participants": 0.0}):
        assert "0.719" not in text(replace(some, **clear))


def test_partial_data_give_a_model_or_a_reason():
    data = make_data(seed=9)
    for value in (np.nan, 50.0):
        some = replace(data, trials=data.trials.assign(confidence=value))
        found = results_of(some, CHAPTER).of(Mixed).mixed_model
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
