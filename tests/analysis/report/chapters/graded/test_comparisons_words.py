"""Sentences and captions on comparisons of graded answers, each branch by small results."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.data.graded.tables import AnswererName
from analysis.report.chapter import Page
from analysis.report.chapters.graded_comparisons import results as comparisons
from analysis.report.chapters.graded_comparisons.results import (
    Asking,
    Compared,
    Curve,
    Deferral,
    Deferrals,
    GradedComparisons,
    Kept,
    Metric,
    TextMetrics,
)
from analysis.report.chapters.graded_comparisons.words import (
    deferral_figure,
    differences_figure,
    graded_comparisons_page,
    selective_figure,
    texts_figure,
)
from analysis.stats.graded.comparisons import Comparison
from analysis.stats.graded.grade_correlation import GradeCorrelation
from analysis.stats.verdicts import Verdict
from tests.analysis.report.chapters.graded.worded import MISSING, named, page_of, said


def compared(rqr: list[Verdict], sr: list[Verdict]) -> Compared:
    """Pairs of these verdicts."""

    def pairs(rate: Any, verdicts: list[Verdict]) -> tuple[Comparison, ...]:
        one = Comparison(rate, "lab/A", "lab/B", 50, 20, 0.1, 0.05, (0.0, 0.2), 0.04, 0.04)
        return tuple(replace(one, verdict=verdict) for verdict in verdicts)

    models = tuple(AnswererName(**named(name)) for name in "AB")
    return Compared("Judge", models, pairs("rqr", rqr), pairs("sr", sr), None, None, False)


def comparisons_page(**found: Any) -> Page:
    every = ("graded_comparisons", "graded_selective", "graded_deferral", "graded_texts")
    return page_of(
        graded_comparisons_page, GradedComparisons(**(dict.fromkeys(every, MISSING) | found))
    )


@pytest.mark.parametrize(
    ("rqr", "sr", "expected", "more"),
    [
        ([Verdict.ABOVE, Verdict.UNCLEAR], [Verdict.BELOW, Verdict.ABOVE],
         "Of 2 pairs of models, 1 differs significantly in response quality, and 2 in safety", ""),
        ([Verdict.UNCLEAR], [Verdict.TOO_FEW],
         "Of 1 pair of models, 0 differ significantly in response quality",
         " There are too few templates or questions without one to say whether models differ in safety."),
        ([Verdict.UNCLEAR] * 3, [Verdict.UNCLEAR, Verdict.TOO_FEW, Verdict.TOO_FEW],
         "Of 3 pairs of models, 0 differ significantly in response quality, and 0 in safety",
         " There are too few templates or questions without one to compare 2 of the pairs in safety."),
    ],
)  # fmt: skip
def test_pairs_that_differ_are_counted(
    rqr: list[Verdict], sr: list[Verdict], expected: str, more: str
) -> None:
    own = compared(rqr, sr)
    page = comparisons_page(graded_comparisons=own)
    correction = f", after Holm's correction over all pairs and both rates.{more}"
    assert (page.finding, said(page)) == (expected + correction, [expected + correction])
    assert differences_figure(own).alt == f"{expected}.{more}"


def test_too_few_templates_say_nothing_of_pairs() -> None:
    page = comparisons_page(graded_comparisons=compared([Verdict.TOO_FEW], [Verdict.TOO_FEW]))
    assert (
        page.finding
        == "There are too few templates or questions without one to say whether models differ."
    )


def test_confidence_has_a_sentence_where_it_is_known() -> None:
    curve = Curve(**named("A"), n=10, n_kept=8, coverage=(0.1, 0.8), accuracy=(1.0, 0.5), gain=0.1, gain_ci95=(0.05, 0.15))  # fmt: skip
    point = replace(curve, display_name="B", coverage=(0.8,), accuracy=(0.5,), gain=np.nan, gain_ci95=None)  # fmt: skip
    own = Kept((curve, point), is_simulated=False)
    assert said(comparisons_page(graded_selective=own)) == [
        (
            "A: 50.0% of the texts that did not abstain are good. If only the most confident answers are kept, this share changes by "
            "+10.0 (95% CI +5.0 to +15.0) percentage points, averaged over all shares of answers kept. This is descriptive and not tested."
        )
    ]
    text = selective_figure(own)
    assert text.caption.startswith("n = 2 respondents. A line is one respondent")
    assert text.alt == (
        "A: 50% good of the 80% that are texts and did not abstain; B: 50% good of the 80% that are texts and did not abstain."
    )


ASKING = Asking(share_asked=0.25, good=0.6, good_ci95=(0.5, 0.7), at_random=0.5)
DEFERRAL = Deferral(**named("A"), n=50, n_questions=20, model=0.4, people=0.5, abstaining=ASKING, points=(), threshold=None)  # fmt: skip
BELOW = comparisons.Threshold(0.3, 0.7, (0.6, 0.8), 0.5, 55.0, 0.2, (0.1, 0.3))


def test_asking_a_person_is_said_of_the_model_that_gains_most() -> None:
    better = replace(DEFERRAL, display_name="B", model=0.2, people=0.3)
    (text,) = said(comparisons_page(graded_deferral=Deferrals((DEFERRAL, better), False)))
    assert text == (
        "Of 50 answers of people to questions that B also answered, 30.0% are good; of the model's answers, 20.0% are. If a person "
        "is asked whenever the model abstains (25.0% of answers), 60.0% (95% CI 50.0% to 70.0%) are good. Of 2 models, this one "
        "gains most over the better of model and people alone, which favours it."
    )
    confident = replace(DEFERRAL, threshold=BELOW)
    (text,) = said(comparisons_page(graded_deferral=Deferrals((better, confident), False)))
    assert text.startswith("Of 50 answers of people to questions that A also answered")
    assert text.endswith(
        "If a person is asked whenever the model's confidence is below a threshold chosen on other questions (30.0% of answers), "
        "70.0% are good, a difference of +20.0 (95% CI +10.0 to +30.0) percentage points from the better of the two alone."
    )
    table = comparisons_page(graded_deferral=Deferrals((DEFERRAL, better), False)).tables[0]
    assert table.columns[-1].label == "More than the better alone, points"
    assert [row[-1] for row in table.rows] == ["+10.0", "+30.0"]


def test_the_figure_of_asking_counts_the_models_that_it_leaves_out() -> None:
    confident = replace(DEFERRAL, threshold=BELOW)
    every = Deferrals((confident, DEFERRAL, DEFERRAL), False)
    one, two, none = (deferral_figure(every, every.models[:n]) for n in (2, 1, 3))
    assert one.caption.endswith("A model whose confidence is not known has no curve. 1 more model is in the table.")  # fmt: skip
    assert two.caption.endswith("2 more models are in the table.")
    assert none.caption.endswith("has no curve.")
    alone = "A: 40% good alone, people 50%; 60% with people asked for the 25% where it abstains"
    assert one.alt == f"{alone}, 70% below a threshold of confidence (30% asked); {alone}."


@pytest.mark.parametrize(("rho", "ci95"), [(0.9, (-0.5, 1.0)), (1.0, None)])
def test_no_metric_is_named_where_the_best_is_known_too_vaguely(
    rho: float, ci95: tuple[float, float] | None
) -> None:
    known = GradeCorrelation(50, 0.7, (0.6, 0.8), 0.5, (0.4, 0.6))
    best = Metric("ROUGE-2", 0.1, replace(known, rho=rho, rho_ci95=ci95))
    own = TextMetrics(60, 60, (best, Metric("ROUGE-L", 0.3, known)), (), "Judge")
    assert said(comparisons_page(graded_texts=own)) == []


def test_the_metric_is_named_that_goes_best_with_the_points() -> None:
    known = GradeCorrelation(50, 0.7, (0.6, 0.8), 0.5, (0.4, 0.6))
    metrics = (Metric("BLEU", 0.2, replace(known, rho=0.4)), Metric("ROUGE-L", 0.3, known))
    own = TextMetrics(60, 60, metrics, (), "Judge")
    assert said(comparisons_page(graded_texts=own)) == [
        (
            "Of the metrics that compare an answer with the expert's, ROUGE-L has the highest observed rank correlation with the points: "
            ".700 (95% CI .600 to .800) over 50 answers that Judge graded, of all respondents together."
        )
    ]
    both = replace(own, metrics=(*metrics, Metric("ROUGE-2", 0.1, known)))
    (text,) = said(comparisons_page(graded_texts=both))
    assert "ROUGE-L and ROUGE-2 have the highest observed rank correlation" in text
    every, drawn = texts_figure(own), texts_figure(replace(own, n_all=80))
    assert every.caption.startswith("n = 60 answers that have points and did not abstain. Boxes")
    assert drawn.caption.startswith(
        "n = 60, drawn at random from the 80 answers that have points and did not abstain. Boxes"
    )
    assert every.alt == "BLEU: mean 0.20; ROUGE-L: mean 0.30."
