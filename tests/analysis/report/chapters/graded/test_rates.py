"""Rates of graded answers: whose they are, of what they are shares, and where models stand."""

from dataclasses import replace
from typing import Any

import pytest

from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NO_GRADES, NO_READABLE, NO_TEXT, NOT_GRADED, GradedData
from analysis.report.chapters.graded_rates.results import GradedCategories, GradedRates
from analysis.report.contents import CHAPTERS, chapter_named
from analysis.stats import NotEnough
from tests.analysis.graded_made import make_graded
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("graded_rates")


def of(small: SourceData, graded: GradedData) -> SourceData:
    return replace(small, graded=graded)


def with_answers(data: GradedData, **columns: Any) -> GradedData:
    return replace(data, answers=data.answers.assign(**columns))


def test_unparsed_grades_and_missing_texts_count_among_all(small: SourceData) -> None:
    data = make_graded(truth={"A": (0.5, 0.5)}, n_questions=10, n_templates=0)
    fates = ["good"] * 4 + ["unparsed"] * 2 + [NO_TEXT] * 2 + [NOT_GRADED] * 2
    source = results_of(of(small, with_answers(data, fate=fates)), CHAPTER)
    (model,) = source.of(GradedRates).graded_rates.models
    assert (model.found.rates.n, model.found.rates.n_unparsed, model.n_no_text) == (8, 4, 2)
    assert model.found.rqr.value == 0.5
    assert model.found.sr is None


def test_a_model_without_a_grade_that_can_be_read_is_named_and_has_no_rate(
    small: SourceData,
) -> None:
    data = make_graded(truth={"A": (0.5, 0.5), "B": (0.5, 0.5)}, n_questions=10, n_templates=0)
    fates = ["good"] * 10 + ["unparsed"] * 8 + [NO_TEXT] * 2
    graded = of(small, with_answers(data, fate=fates))
    source = results_of(graded, CHAPTER)
    own = source.of(GradedRates).graded_rates
    assert [model.name for model in own.models] == ["lab/A"]
    assert [model.name for model in own.unread] == ["lab/B"]
    _, html = page_of(CHAPTER, source)
    assert "grades of B could be read" in html
    of_none = with_answers(data, fate="unparsed")
    with pytest.raises(NotEnough) as found:
        CHAPTER.build(of(small, of_none))
    assert (found.value.reason, found.value.needed) == NO_READABLE


def test_a_category_without_a_grade_that_can_be_read_has_no_rate(small: SourceData) -> None:
    data = make_graded(truth={"A": (0.5, 0.5)}, n_questions=40, n_templates=0)
    first = data.categories.iloc[0]
    inside = data.categories[data.categories["category"] == first["category"]]["question"]
    fate = data.answers["question"].isin(inside).map({True: "unparsed", False: "good"})
    chapter = chapter_named("graded_categories")
    source = results_of(of(small, with_answers(data, fate=fate)), chapter)
    cells = source.of(GradedCategories).graded_categories.cells
    (cell,) = (cell for cell in cells if cell.category == first["category"])
    assert (cell.rqr, cell.ar) == (None, None)


@pytest.mark.parametrize(
    ("n_templates", "mark", "method"),
    [(2, "†", "wilson, too few clusters"), (20, "", "clustered")],
)
def test_an_interval_that_knows_of_no_template_is_marked_on_the_page_and_in_the_file(
    small: SourceData, n_templates: int, mark: str, method: str
) -> None:
    data = of(small, make_graded(n_questions=60, n_templates=n_templates))
    page, _ = page_of(CHAPTER, results_of(data, CHAPTER))
    assert {row[4].endswith("†") for row in page.tables[0].rows} == {bool(mark)}
    assert set(CHAPTER.build(data).tables["graded_rates"]["rqr_method"]) == {method}


def test_without_questions_or_grades_every_chapter_says_why(small: SourceData) -> None:
    ungraded = with_answers(make_graded(n_questions=20), fate=NOT_GRADED)
    for chapter in CHAPTERS:
        if not chapter.id.startswith("graded"):
            continue
        with pytest.raises(NotEnough):
            chapter.build(small)
        if chapter.id != "graded-answers":
            with pytest.raises(NotEnough) as found:
                chapter.build(of(small, ungraded))
            assert (found.value.reason, found.value.needed) == NO_GRADES
