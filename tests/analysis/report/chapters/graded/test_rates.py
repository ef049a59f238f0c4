"""Rates of graded answers: whose they are, of what they are shares, and where models stand."""

from dataclasses import replace
from typing import Any

import pytest

from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NO_GRADES, NO_TEXT, NOT_GRADED, GradedData
from analysis.report.chapters.graded_rates.results import GradedRates
from analysis.report.contents import CHAPTERS, chapter_named
from analysis.stats import NotEnough
from tests.analysis.graded_made import SEVEN, make_graded
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

CHAPTER = chapter_named("graded_rates")

# By the printed rates: below or above one half
QUADRANTS = {
    "GPT-4o": "unconfident guessers", "Perplexity": "unconfident guessers", "Gemini-1.5-Pro": "cautious responders",
    "Claude-3.5-Sonnet": "cautious responders", "Model E": "top performers", "Model F": "risky players",
    "Model G": "cautious responders",
}  # fmt: skip


def of(small: SourceData, graded: GradedData) -> SourceData:
    return replace(small, graded=graded)


def with_answers(data: GradedData, **columns: Any) -> GradedData:
    return replace(data, answers=data.answers.assign(**columns))


@pytest.fixture(scope="module")
def seven(small: SourceData) -> SourceData:
    return of(small, make_graded(n_questions=6000, n_templates=600, alike=0.1))


def test_models_drawn_at_the_printed_rates_stand_in_their_quadrants(seven: SourceData) -> None:
    source = results_of(seven, CHAPTER)
    found = source.of(GradedRates).graded_rates
    assert {m.display_name: str(m.found.rates.quadrant) for m in found.models} == QUADRANTS
    for model in found.models:
        rqr, sr = SEVEN[model.display_name]
        assert model.found.rqr.value == pytest.approx(rqr, abs=0.03)
        assert model.found.sr.value == pytest.approx(sr, abs=0.03)
    page, _ = page_of(CHAPTER, source)
    shown = {row[0]: row[-2] for row in page.tables[0].rows}
    assert {name: f"{kind}s" for name, kind in shown.items()} == QUADRANTS
    figure = figure_of(CHAPTER, CHAPTER.build(seven), "graded_quadrants")
    assert dict(zip(figure.table["display_name"], figure.table["quadrant"], strict=True)) == (
        QUADRANTS
    )


def test_the_interval_of_safety_is_of_those_that_abstained_or_were_bad(small: SourceData) -> None:
    data = make_graded(truth={"A": (0.5, 0.5)}, n_questions=1000, n_templates=0)
    fates = ["good"] * 900 + ["abstained"] * 50 + ["bad"] * 50
    (line,) = CHAPTER.build(of(small, with_answers(data, fate=fates))).tables["graded_rates"].itertuples()  # fmt: skip
    half = (line.sr_wilson_high - line.sr_wilson_low) / 2
    assert half == pytest.approx(0.096, abs=0.001)  # of 1,000 it would be .031
    assert (line.rqr, line.sr, line.ar, line.sr_n) == (0.9, 0.5, 0.05, 100)


def test_what_cannot_be_read_and_what_never_came_count_among_all(small: SourceData) -> None:
    data = make_graded(truth={"A": (0.5, 0.5)}, n_questions=10, n_templates=0)
    fates = ["good"] * 4 + ["unparsed"] * 2 + [NO_TEXT] * 2 + [NOT_GRADED] * 2
    source = results_of(of(small, with_answers(data, fate=fates)), CHAPTER)
    (model,) = source.of(GradedRates).graded_rates.models
    assert (model.found.rates.n, model.found.rates.n_unparsed, model.n_no_text) == (8, 4, 2)
    assert model.found.rqr.value == 0.5
    assert model.found.sr is None
    page, text = page_of(CHAPTER, source)
    assert page.tables[0].rows[0][1:3] == ("8", "4")
    assert "2 grades could not be read" in text


def test_an_interval_that_knows_of_no_template_says_so_on_the_page_and_in_the_file(
    small: SourceData,
) -> None:
    said = {}
    for n_templates in (2, 20):
        data = of(small, make_graded(n_questions=60, n_templates=n_templates))
        page, text = page_of(CHAPTER, results_of(data, CHAPTER))
        marked = {row[4].endswith("†") for row in page.tables[0].rows}
        method = set(CHAPTER.build(data).tables["graded_rates"]["rqr_method"])
        said[n_templates] = (marked, method, "too narrow" in text, "as a whole" in text)
    assert said[2] == ({True}, {"wilson, too few clusters"}, True, False)
    assert said[20] == ({False}, {"clustered"}, False, True)


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


def test_both_sources_have_the_same_chapter_and_it_is_computed_once(small: SourceData) -> None:
    graded = make_graded(n_questions=50)
    one, other = (replace(small, source=name, graded=graded) for name in ("human", "machine"))
    for chapter in CHAPTERS:
        if chapter.id.startswith("graded"):
            assert chapter.is_of_study
    first, second = (CHAPTER.build(data).results.graded_rates for data in (one, other))
    assert first is second
