"""The chapter on crossed uncertainty: over participants and items together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.data.dataset import SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.uncertainty.results import (
    NO_ERRORS,
    Crossed,
    CrossedErrors,
    Errors,
    build_crossed,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.two_way_clustered import two_way
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

ACCURACY = chapter_named("accuracy")
CHAPTER = chapter_named("crossed")


@pytest.fixture(scope="module")
def data() -> SourceData:
    return make_data(seed=8, resamples=200)


@pytest.fixture(scope="module")
def source(data: SourceData) -> SourceResults:
    return results_of(data, CHAPTER, ACCURACY)


def crossed(data: SourceData) -> CrossedErrors:
    return results_of(data, CHAPTER).of(Crossed).crossed


def draw(source: SourceResults):
    return CHAPTER.figure_builders()["crossed"](source, {})


def without_two_way(errors: Errors) -> Errors:
    return Errors(errors.se, errors.ci95)


def test_the_published_difference_is_reported_with_both_kinds_of_error(published, reference):
    found = crossed(published)
    assert found.humans.accuracy == pytest.approx(641 / 1011, rel=1e-12)
    assert found.models_mean.mean == pytest.approx(reference["llm_mean"]["mean"], rel=1e-12)
    assert [m.name for m in found.models] == reference["meta"]["models_order"]
    parts = found.components
    assert parts.binomial_se < parts.two_way_se < parts.crossed_se
    assert found.difference.errors.ci95[0] > 0.1
    assert found.difference.mean == pytest.approx(0.814333333 - 0.634025717, rel=1e-8)


def test_every_model_has_both_kinds_of_interval_and_the_page_shows_them(data, source):
    found, trials = source.of(Crossed).crossed, data.trials
    who, item = trials["participant"].to_numpy(), trials["item"].to_numpy()
    for model, correct in zip(found.models, data.model_correct, strict=False):
        assert model.errors.two_way_se == pytest.approx(stats.sem(correct))
        paired = two_way(who, item, trials["is_correct"].to_numpy(dtype=float), correct)
        assert model.difference_errors.two_way_ci95 == pytest.approx(paired.ci95)
    table = build_crossed(data).tables["crossed"].set_index("who")
    low, _ = found.difference.errors.two_way_ci95
    assert table.loc["models_mean", "difference_two_way_low"] == low
    assert list(table.index) == ["humans", "models_mean", *(m.name for m in found.models)]
    page, text = page_of(CHAPTER, source)
    assert len(page.tables[0].rows) == len(table)
    assert "–" not in page.tables[0].rows[1]  # noqa: RUF001
    assert "no parts of a whole" in text


def test_duplicating_all_models_leaves_the_difference_as_it_is(data, source):
    twice = replace(
        data,
        models=data.models.loc[np.repeat(np.arange(4), 2)].reset_index(drop=True),
        full=data.full.loc[np.repeat(data.full.index, 2)].assign(
            model=lambda x: 2 * x["model"] + np.tile([0, 1], len(data.full))
        ),
    )
    one, other = source.of(Crossed).crossed.difference, crossed(twice).difference
    assert other.n == 2 * one.n
    assert (one.mean, one.p) == pytest.approx((other.mean, other.p))
    assert (one.errors.se, one.errors.two_way_se) == pytest.approx(
        (other.errors.se, other.errors.two_way_se)
    )
    assert one.errors.ci95 == pytest.approx(other.errors.ci95)


def test_without_models_or_people_the_rest_stays(data):
    no_models = crossed(replace(data, full=data.full.iloc[:0]))
    no_people = crossed(replace(data, trials=data.trials.iloc[:0]))
    assert no_models.models == ()
    assert no_models.models_mean is no_models.difference is no_people.humans is None
    assert no_models.humans.errors.ci95
    assert [m.difference for m in no_people.models] == [None] * 3
    with pytest.raises(NotEnough):
        build_crossed(replace(data, trials=data.trials.iloc[:0], full=data.full.iloc[:0]))


def test_one_trial_or_one_score_has_no_interval(data):
    one_trial = crossed(replace(data, trials=data.trials.iloc[:1]))
    one_score = crossed(replace(data, full=data.full.iloc[:1]))
    assert one_trial.humans.errors.ci95 is None
    assert one_trial.models_mean.errors.ci95
    assert one_score.humans.errors.ci95
    assert one_score.models_mean.errors == one_score.difference.errors == NO_ERRORS


@pytest.mark.parametrize("absent", ["", "trials", "full"])
def test_people_alone_and_models_alone_have_a_figure_and_a_page(data, absent):
    some = replace(data, **({absent: getattr(data, absent).iloc[:0]} if absent else {}))
    source = results_of(some, CHAPTER, ACCURACY)
    figure = draw(source)
    assert len(figure.table) == {"": 5, "trials": 4, "full": 1}[absent]
    assert figure.caption.startswith("n = ")
    assert ("Hollow: chat" in figure.caption) == (absent != "full")
    assert len(page_of(CHAPTER, source)[0].tables[0].rows) == len(figure.table)


def test_the_two_way_interval_is_named_only_where_it_is_known(source):
    own = source.of(Crossed).crossed
    bare = replace(
        own,
        humans=replace(own.humans, errors=without_two_way(own.humans.errors)),
        models=(),
        models_mean=None,
        difference=replace(own.difference, errors=without_two_way(own.difference.errors)),
    )
    results = {Crossed: Crossed(bare), Accuracy: source.of(Accuracy)}
    without = SourceResults("human", results)
    thin = "two-way cluster-robust interval"
    assert thin in draw(source).caption
    assert thin not in draw(without).caption
    assert "two-way cluster" not in page_of(CHAPTER, without)[1]
