"""Sentences and captions on the agreement of graders, each branch by small results."""

from dataclasses import replace
from typing import Any

import pytest

from analysis.report.chapter import Page
from analysis.report.chapters.graded_agreement.results import (
    PEOPLE,
    CorrectedModels,
    GradedAgreement,
    ModelCorrected,
    ModelThresholds,
    Pair,
    Reliability,
    Threshold,
    Thresholds,
    Varied,
)
from analysis.report.chapters.graded_agreement.words import (
    corrected_figure,
    graded_agreement_page,
    thresholds_figure,
)
from analysis.stats.graded.agreement import Agreement
from analysis.stats.graded.correction import corrected_rates
from analysis.stats.graded.judge_bias import Bias
from analysis.stats.graded.sensitivity import Abstaining
from analysis.stats.verdicts import Verdict
from tests.analysis.report.chapters.graded.worded import MISSING, named, page_of, said

KAPPA = Agreement(0.8, 50, (0.7, 0.9), "Kappa.")
VAGUE = replace(KAPPA, ci95=(-0.9, 0.9))


def pair(first: str, second: str = PEOPLE, kappa: Agreement = KAPPA) -> Pair:
    return Pair(first, second, 50, 0.75, 0.9, 0.1, kappa, kappa, MISSING)


def bias(verdict: Verdict) -> Bias:
    return Bias(0.25, 0.1, 20, (0.05, 0.45), 0.02, 50, 21, "Regression.", 0.04, verdict)


def agreement_page(*pairs: Pair, **others: Any) -> Page:
    fields = dict.fromkeys(("confusion", "people_alpha", "by_length", "own_family"), MISSING)
    own = Reliability("BioScore", False, 50, 50, pairs, n_by_length=len(pairs), **(fields | others))
    return page_of(graded_agreement_page, GradedAgreement(own, MISSING, MISSING))


def test_agreement_beyond_chance_is_said_where_its_interval_is_narrow() -> None:
    page, vague = agreement_page(pair("Judge")), agreement_page(pair("Judge", kappa=VAGUE))
    outcomes = "for 90.0% they agreed on the outcome (good, abstained, or bad)."
    assert vague.finding == (
        f"Judge and people gave the same points to 75.0% of 50 answers; {outcomes}"
    )
    assert page.finding == (
        f"{vague.finding} Beyond chance, they agree by a weighted kappa of .800 (95% CI .700 to .900). For the outcomes on which "
        "response quality and safety are based (good, abstained, or bad), kappa is .800 (95% CI .700 to .900)."
    )


def test_two_people_agree_without_a_judge() -> None:
    page = agreement_page(pair("first person", "second person"), people_alpha=KAPPA)
    assert (page.finding, said(page)) == (
        "",
        [
            "Two people gave the same points to 75.0% of 50 answers. Krippendorff's alpha among people is .800 (95% CI .700 to .900)."
        ],
    )


@pytest.mark.parametrize(
    ("verdict", "conclusion"),
    [
        (Verdict.ABOVE, ""),
        (Verdict.UNCLEAR, " This is not clearly different from zero."),
        (
            Verdict.TOO_FEW,
            " There are too few templates or questions without one to say whether this differs from zero.",
        ),
    ],
)
def test_the_sentence_on_a_bias_of_judges_follows_its_verdict(
    verdict: Verdict, conclusion: str
) -> None:
    points = "0.25 (95% CI 0.05 to 0.45)"
    one = said(agreement_page(pair("A"), by_length=bias(verdict), own_family=bias(verdict)))
    by_length = (
        "With each doubling of an answer's length, the difference between the judge's and people's points changes by "
        f"{points}.{conclusion}"
    )
    own_family = (
        "For answers from a judge's own model family, the judge's points minus people's points differ by "
        f"{points} from those for other answers.{conclusion}"
    )
    assert one[-1] == f"{by_length} {own_family}"
    two = said(agreement_page(pair("A"), pair("B"), by_length=bias(verdict)))
    assert two[-1] == (
        f"With each doubling of an answer's length, the 2 judges' points minus people's points change by {points}, within each "
        f"judge.{conclusion}"
    )
    alone = said(agreement_page(pair("A"), own_family=bias(verdict)))
    assert alone[-1] == own_family


def corrected(name: str, n_wrong: int, n_contested: int = 0) -> ModelCorrected:
    """200 good answers by the judge, of which people find as many bad in their sample of 100."""
    human = ["bad"] * n_wrong + ["good"] * (100 - n_wrong) + [None] * 100
    found = corrected_rates(["good"] * 200, human, [None] * 200)
    return ModelCorrected(**named(name), judge="Judge", n_contested=n_contested, found=found)


def correction_page(*models: ModelCorrected, other_rubric: tuple[str, ...] = ()) -> Page:
    own = CorrectedModels(models, other_rubric, is_simulated=False)
    return page_of(graded_agreement_page, GradedAgreement(MISSING, own, MISSING))


def test_the_largest_correction_is_said() -> None:
    where = "Where people graded a sample, the rates can be corrected for the judge's errors."
    (two,) = said(correction_page(corrected("A", 4), corrected("B", 20)))
    assert two.startswith(
        f"{where} The correction changes B most: its response quality is 100.0% by the judge and 80.0% corrected ("
    )
    (one,) = said(correction_page(corrected("B", 20)))
    assert one.startswith(
        f"{where} The response quality of B is 100.0% by the judge and 80.0% corrected ("
    )
    assert said(correction_page(corrected("A", 0))) == []


def test_models_that_cannot_be_corrected_and_contested_grades_are_named() -> None:
    assert said(correction_page(corrected("A", 0, n_contested=1), other_rubric=("B", "C"))) == [
        "Not corrected, because the judge and people used different rubrics: B, C.",
        "On 1 answer of the sample, two people disagree, and no third grade has settled it. The first grade is used.",
    ]
    text = corrected_figure(CorrectedModels((corrected("A", 20),), ("B", "C"), is_simulated=True))
    assert text.caption.startswith(
        "n = 100 answers that people graded, of 200 with a text. Hollow:"
    )
    assert text.caption.endswith(
        "Not shown, because the judge and people used different rubrics: B, C. Some of these answers or grades are simulated."
    )
    assert text.alt == "A: quality 100% by the judge, 80% corrected."


def varied(value: float, is_unclustered: bool = False) -> Varied:
    return Varied(value, 10, (0.1, 0.9), is_unclustered)


def thresholds(name: str, *quadrants: str, sr: Varied | None = None) -> ModelThresholds:
    """Thresholds with a tenth fewer good answers at each."""
    return ModelThresholds(
        **named(name),
        thresholds=tuple(
            Threshold(
                0.5 + n / 10,
                Abstaining.RUBRIC.value,
                n == 0,
                varied(0.6 - n / 10, True),
                sr,
                varied(0.1),
                one,
            )
            for n, one in enumerate(quadrants)
        ),
    )


def thresholds_page(*models: ModelThresholds) -> Page:
    own = Thresholds(models, is_simulated=False)
    return page_of(graded_agreement_page, GradedAgreement(MISSING, MISSING, own))


def test_respondents_that_another_rule_moves_are_named_with_their_quadrants() -> None:
    still = thresholds("Still", "risky players", "risky players")
    moving, other = (thresholds(name, "risky players", "top performers") for name in "AB")
    assert said(thresholds_page(still)) == [
        "All respondents stay in their quadrant under every other threshold of points and definition of abstention.",
        "† Answers from fewer than three templates: the interval treats answers as independent and is too narrow.",
    ]
    assert said(thresholds_page(still, moving))[0] == (
        "With another threshold of points, or another definition of abstention, 1 respondent would move to another quadrant of "
        "quality and safety. All quadrants in which this respondent can be, including the present one: A (risky players, top "
        "performers)."
    )
    assert said(thresholds_page(moving, other))[0].endswith(
        "2 respondents would move to another quadrant of quality and safety. All quadrants in which each of them can be, including "
        "the present one: A (risky players, top performers); B (risky players, top performers)."
    )


def test_the_figure_of_thresholds_says_ranges() -> None:
    models = (
        thresholds("A", "", "", sr=varied(0.5)),
        thresholds("B", "risky players"),
    )
    text = thresholds_figure(Thresholds(models, is_simulated=False), 12)
    assert text.alt == (
        "A: quality from 50% to 60%, safety 50%; B: quality 60%, safety not defined."
    )
    assert text.caption.startswith("n = 12 questions, answered by 2 models. Left of the line:")
