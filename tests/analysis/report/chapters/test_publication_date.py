"""The chapter on publication dates: published correlations, and dates or scores that are missing."""

import json
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapters.memorisation.results import ModelDates, PublicationDate
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.publication_date import DateDirection
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

CHAPTER = chapter_named("publication_date")


def models_of(data: SourceData) -> tuple[ModelDates, ...]:
    return need(results_of(data, CHAPTER).of(PublicationDate).publication_date)


def test_correlations_with_publication_dates_are_those_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models, expected = models_of(published), reference["pubdate_spearman"]
    assert [model.name for model in models] == list(expected["llm"])
    for model in models:
        known = model.known
        assert known is not None
        own = expected["llm"][model.name]
        assert (known.rho, known.p) == pytest.approx((own["rho"], own["p"]), rel=1e-9)
        assert (known.n, known.n_unique_dates) == (expected["n"], expected["n_unique_dates"])


def test_right_and_wrong_test_cases_have_two_colours_and_a_legend(small: SourceData) -> None:
    built = CHAPTER.build(small)
    items = built.tables["publication_date_items"]
    assert (items["is_correct"] == (items["difficulty_ppl"] > 0)).all()
    assert set(items["is_correct"]) == {True, False}
    drawn = json.dumps(figure_of(CHAPTER, built).chart.to_dict())
    (legend,) = set(re.findall(r'"domain": (\["right", "wrong"\])', drawn))
    assert legend
    assert drawn.count('"symbolSize": 48') == 1


def test_studies_without_dates_say_so(small: SourceData) -> None:
    undated = small.items.assign(published=pd.Series(dtype="datetime64[ns]"))
    with pytest.raises(NotEnough, match="publication date"):
        CHAPTER.build(replace(small, items=undated))


def test_a_model_with_too_few_scores_does_not_hide_the_others(small: SourceData) -> None:
    few = replace(small, full=small.full[(small.full["model"] != 1) | (small.full["item"] == 0)])
    models = models_of(few)
    assert [isinstance(m.correlation, MissingResult) for m in models] == [False, True, False]
    figure = figure_of(CHAPTER, CHAPTER.build(few))
    assert figure.table["name"].tolist() == ["org/model-0", "org/model-2"]
    page, text = page_of(CHAPTER, results_of(few, CHAPTER))
    assert len(page.tables[0].rows) == 2
    assert "in 2 models" in text


def test_the_published_models_are_one_family_and_show_no_clear_direction(
    published: SourceData,
) -> None:
    found = results_of(published, CHAPTER).of(PublicationDate)
    together, people = need(found.publication_date_tests), need(found.publication_date_people)
    assert together.n_tests == 15
    # Difficulties of the models correlate at .75 on average, as the published matrix says
    assert together.mean_correlation == pytest.approx(0.75, abs=0.05)
    assert 1 < together.n_effective < 8
    assert together.n_clear == 0
    assert {model.direction for model in models_of(published)} == {DateDirection.UNCLEAR}
    assert people.direction is DateDirection.UNCLEAR
    # Years, so that the slope of the audit's check with statsmodels is met
    assert people.slope.slope == pytest.approx(0.0636, abs=1e-4)
    text = page_of(CHAPTER, results_of(published, CHAPTER))[1]
    assert "no clear direction" in text


def test_a_drift_with_the_date_is_named_for_models_and_people(small: SourceData) -> None:
    days = small.items["published"].rank().to_numpy()
    full = small.full.assign(ppl_altered=small.full["ppl_original"] - days[small.full["item"]])
    late = days[small.trials["item"]] > days.mean()
    noise = small.trials.index.to_numpy() % 5 == 0
    data = replace(small, full=full, trials=small.trials.assign(is_correct=late ^ noise))
    found = results_of(data, CHAPTER).of(PublicationDate)
    assert {m.direction for m in models_of(data)} == {DateDirection.NEWER_HARDER}
    assert need(found.publication_date_people).direction is DateDirection.NEWER_EASIER
    text = page_of(CHAPTER, results_of(data, CHAPTER))[1]
    assert "Newer is harder for 3 models" in text
    assert "For people, newer is easier" in text


def test_people_keep_their_dates_where_no_model_has_scored(small: SourceData) -> None:
    found = results_of(replace(small, full=small.full.iloc[:0]), CHAPTER).of(PublicationDate)
    assert isinstance(found.publication_date, MissingResult)
    assert need(found.publication_date_people).slope.n == len(small.trials)
