"""The chapter that compares answers: models in pairs, what confidence tells, when to ask a person, words in common."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NO_TEXT, GradedData
from analysis.report.chapters.graded_comparisons import results as comparisons
from analysis.report.chapters.graded_comparisons.results import GradedComparisons
from analysis.report.contents import chapter_named
from tests.analysis.graded_made import make_graded
from tests.analysis.report.chapters.chapter_results import results_of

COMPARISONS = chapter_named("graded_comparisons")


def test_every_two_models_are_compared_and_people_are_not_among_them(data: SourceData) -> None:
    own = results_of(data, COMPARISONS).of(GradedComparisons).graded_comparisons
    assert len(own.models) == 7
    assert (len(own.rqr), len(own.sr)) == (21, 21)
    assert all(pair.p_holm >= pair.p for pair in own.rqr)
    rates = {
        (pair.first, pair.second): pair.difference for pair in own.rqr
    }  # as far apart as they were drawn
    assert rates["lab/GPT-4o", "lab/Model F"] == pytest.approx(0.37 - 0.7, abs=0.15)


def test_models_of_another_judge_are_not_compared(data: SourceData, graded: GradedData) -> None:
    judge = [1, *graded.models["judge"][1:]]
    other = replace(graded, models=graded.models.assign(judge=judge))
    own = results_of(replace(data, graded=other), COMPARISONS).of(GradedComparisons)
    assert len(own.graded_comparisons.models) == 6
    assert own.graded_comparisons.judge == "Judge A"


def test_a_model_whose_confidence_is_known_has_a_curve_of_its_texts(
    data: SourceData, graded: GradedData
) -> None:
    """40% of its answers never came: they are not covered, however sure."""
    answers = graded.answers
    is_first = answers["model"] == 0
    gone = is_first & (answers["question"] % 5 < 2)
    sure = answers["confidence"].mask(is_first, 50.0 + 10 * answers["points"].clip(lower=0))
    sure = sure.mask(gone, 100.0)
    fate = answers["fate"].mask(gone, NO_TEXT)
    own = answers.assign(confidence=sure, fate=fate, words=answers["words"].mask(gone, 0))
    source = results_of(replace(data, graded=replace(graded, answers=own)), COMPARISONS)
    first, second, *_ = source.of(GradedComparisons).graded_selective.curves
    kept = (~own["fate"].isin([NO_TEXT, "abstained"]))[is_first]
    assert (first.n, first.n_kept) == (200, kept.sum())
    assert first.coverage[-1] == pytest.approx(kept.mean())
    assert first.accuracy[0] == 1  # it is surest of its best
    assert first.gain_ci95[0] > 0
    assert not second.is_curve
    partly = replace(graded, answers=own.assign(confidence=sure.mask(own.index == kept.idxmax())))
    found = results_of(replace(data, graded=partly), COMPARISONS).of(GradedComparisons)
    assert not found.graded_selective.curves[0].is_curve


def deferring_made(data: SourceData, graded: GradedData, sure: np.ndarray) -> SourceData:
    """The first model is as confident as it is told, 0 to 100; every other's confidence is unknown."""
    is_first = graded.answers["model"] == 0
    confidence = graded.answers["confidence"].mask(
        is_first, pd.Series(sure).reindex(graded.answers.index)
    )
    return replace(
        data, graded=replace(graded, answers=graded.answers.assign(confidence=confidence))
    )


def test_texts_of_which_no_grade_can_be_read_have_no_accuracy(
    data: SourceData, graded: GradedData
) -> None:
    answers = graded.answers
    lost = (answers["model"] == 0) & answers["fate"].isin(["good", "bad"])
    fate = answers["fate"].mask(lost, "unparsed")
    source = replace(data, graded=replace(graded, answers=answers.assign(fate=fate)))
    own = results_of(source, COMPARISONS).of(GradedComparisons)
    assert "lab/GPT-4o" not in {curve.name for curve in own.graded_selective.curves}
    assert "lab/GPT-4o" in {model.name for model in own.graded_comparisons.models}


def test_a_person_is_asked_where_the_model_is_least_sure(
    data: SourceData, graded: GradedData
) -> None:
    """Sure where it is good: asking people for the rest leaves every good answer of the model, and adds theirs."""
    answers = graded.answers
    first = answers[answers["model"] == 0]
    good = (first["fate"] == "good").to_numpy()
    own = deferring_made(data, graded, np.where(good, 90.0, 20.0))
    model, other, *_ = results_of(own, COMPARISONS).of(GradedComparisons).graded_deferral.models
    theirs = answers[answers["participant"] >= 0]
    model_good = good[theirs["question"].to_numpy()]
    person_good = (theirs["fate"] == "good").to_numpy()
    assert (model.model, model.people) == pytest.approx((model_good.mean(), person_good.mean()))
    found = model.threshold
    assert 20 < found.confidence < 90
    assert found.share_asked == pytest.approx((~model_good).mean())
    assert found.good == pytest.approx((model_good | person_good).mean())
    assert found.gain == pytest.approx(found.good - max(model.model, model.people))
    assert [point.share_asked for point in model.points][0::20] == [0, 1]
    abstains = (first["fate"] == "abstained").to_numpy()[theirs["question"].to_numpy()]
    expected = np.where(abstains, person_good, model_good).mean()
    assert model.abstaining.good == pytest.approx(expected)
    assert (other.points, other.threshold) == ((), None)


def test_words_in_common_are_measured_on_a_sample_and_go_with_the_points(
    data: SourceData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MOST", 100)
    fresh = replace(data, graded=make_graded(n_questions=200, seed=2))
    found = results_of(fresh, COMPARISONS).of(GradedComparisons).graded_texts
    assert found.n == 100
    assert found.n_all > 100
    assert [metric.name for metric in found.metrics] == ["BLEU", "ROUGE-2", "ROUGE-L"]
    assert all(metric.correlation.rho > 0.5 for metric in found.metrics)
