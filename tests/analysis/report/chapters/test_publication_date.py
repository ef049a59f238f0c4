"""The chapter on publication dates: published correlations, and dates or scores that are missing."""

import json
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapters.publication_date import CHAPTER
from analysis.report.chapters.publication_date.results import ModelDates, PublicationDate
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of


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
    assert "of 2 models" in text
