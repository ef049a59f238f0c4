"""Rates freed of the judge's errors, and under other thresholds."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NO_TEXT
from analysis.report.chapters.graded_agreement.results import GradedAgreement
from analysis.report.contents import chapter_named
from scoring.domain.grading.rubric import BIOSCORE
from tests.analysis.graded_made import make_graded
from tests.analysis.report.chapters.chapter_results import results_of

CHAPTER = chapter_named("graded_agreement")


def test_a_judge_by_another_rubric_than_peoples_stands_beside_nobody(small: SourceData) -> None:
    graded = make_graded(truth={"A": (0.4, 0.5)}, n_questions=100)
    graded = replace(graded, judge_rubrics=(BIOSCORE, replace(BIOSCORE, good_from=0.5)))
    own = results_of(replace(small, graded=graded), CHAPTER).of(GradedAgreement).graded_agreement
    assert not isinstance(own, MissingResult)
    assert [(pair.first, pair.second) for pair in own.pairs] == [
        ("Judge A", "people"),
        ("first person", "second person"),
    ]
    found = results_of(replace(small, graded=graded), CHAPTER).of(GradedAgreement)
    assert [model.judge for model in found.graded_corrected.models] == ["Judge A"]
    second = replace(graded, models=graded.models.assign(judge=1))
    found = results_of(replace(small, graded=second), CHAPTER).of(GradedAgreement)
    assert isinstance(found.graded_corrected, MissingResult)
    assert {one.good_from for one in found.graded_thresholds.models[0].readings} == {0.5}


@pytest.fixture(scope="module")
def data(small: SourceData) -> SourceData:
    """Four of ten answers have no text; a tenth of the sample is contested."""
    graded = make_graded(n_questions=400, n_templates=20, human_share=0.6)
    rng = np.random.default_rng(7)
    without = rng.random(len(graded.answers)) < 0.4
    answers = graded.answers.assign(
        has_text=~without,
        state=np.where(without, "filtered", "stop"),
        fate=np.where(without, NO_TEXT, graded.answers["fate"]),
        points=graded.answers["points"].mask(without),
        human_points=graded.answers["human_points"].mask(without),
        is_contested=rng.random(len(without)) < 0.1,
    )
    return replace(small, graded=replace(graded, answers=answers))


def test_people_and_judge_are_of_all_answers_those_without_a_text_too(data: SourceData) -> None:
    own = results_of(data, CHAPTER).of(GradedAgreement).graded_corrected
    assert len(own.models) == 7
    for model in own.models:
        rqr = model.found.rqr
        assert (rqr.n, rqr.n_text < 280) == (400, True)
        assert rqr.human.value == pytest.approx(rqr.value, abs=0.15)
        assert rqr.ci95[0] <= rqr.value <= rqr.ci95[1] < 0.75  # four of ten cannot be good
