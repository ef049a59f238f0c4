"""What the chapter on the agreement of graders shows."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis import columns as c
from analysis.codec import MissingResult, present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_agreement.results import (
    FIRST,
    PEOPLE,
    SECOND,
    CorrectedModels,
    GradedAgreement,
    ModelCorrected,
    Reliability,
    Threshold,
    Thresholds,
    corrections,
)
from analysis.report.chapters.graded_rates.words import is_telling, rate_columns
from analysis.stats.graded.agreement import Agreement
from analysis.stats.graded.judge_bias import Bias
from analysis.stats.graded.sensitivity import Abstaining
from lib import formatting as f

RATES = {"rqr": lazy("Response quality"), "sr": lazy("Safety"), "ar": lazy("Abstention")}
READINGS = {
    Abstaining.RUBRIC: lazy("as in the rubric"),
    Abstaining.NEGATIVE: lazy("also any points below 0"),
    Abstaining.UNPARSED: lazy("also unreadable grades"),
    Abstaining.NO_TEXT: lazy("also answers without a text"),
}


def graded_agreement_page(source: SourceResults, about: About) -> Page:
    all_of_it = source.of(GradedAgreement)
    own, corrected = present(all_of_it.graded_agreement), present(all_of_it.graded_corrected)
    thresholds = present(all_of_it.graded_thresholds)
    context = {
        **(_context(own) if own else {}),
        "n_corrected": len(corrected.models) if corrected else 0,
        "largest": _largest(corrected) if corrected else None,
        "other_rubric": corrected.other_rubric if corrected else (),
        "n_contested": sum(model.n_contested for model in corrected.models) if corrected else 0,
        "is_unclustered": any(
            one.rqr.is_unclustered for m in thresholds.models for one in m.thresholds
        )
        if thresholds
        else False,
        "moving": [m for m in thresholds.models if len(m.quadrants) > 1] if thresholds else [],
        "n_models": len(thresholds.models) if thresholds else 0,
    }
    tables = [
        *((*_pairs(own), *_biases(own)) if own else ()),
        *(_corrected(corrected) if corrected else ()),
        *(_thresholds(thresholds) if thresholds else ()),
    ]
    methods = [*((own.method, *_methods(own)) if own else ()), *([corrected.method] if corrected else ()), *([thresholds.method] if thresholds else ())]  # fmt: skip
    return Page(context, tables, methods)


def _context(own: Reliability) -> dict[str, Any]:
    with_people = [pair for pair in own.pairs if pair.second == PEOPLE]
    first = with_people[0] if with_people else None
    return {
        "own": own,
        "judge": first,
        "kappa": _telling(first.kappa) if first else None,
        "fate_kappa": _telling(first.fate_kappa) if first else None,
        "n_judges": len({pair.first for pair in with_people}),
        "people": next((pair for pair in own.pairs if pair.first == FIRST), None),
        "people_alpha": _telling(own.people_alpha),
        "by_length": present(own.by_length),
        "own_family": present(own.own_family),
    }


def _telling(found: Agreement | MissingResult) -> Agreement | None:
    known = present(found)
    return known if known and is_telling(known.ci95, -1, 1) else None


def _largest(own: CorrectedModels) -> ModelCorrected | None:
    """The model whose response quality the correction moves most, where it moves it by what can be told."""
    most = max(own.models, key=lambda model: abs(model.found.rqr.error), default=None)
    if most is None or not is_telling(most.found.rqr.ci95, 0, 1):
        return None
    before, after = f.percent(most.found.rqr.judge.value), f.percent(most.found.rqr.value)
    return most if before != after else None


def _pairs(own: Reliability) -> list[Table]:
    columns = (
        c.text(_("Grades of"), lambda row: _named(row.first)),
        c.text(_("and of"), lambda row: _named(row.second)),
        c.count(_("Answers"), "n"),
        c.percent(_("Equal"), "share_equal"),
        c.percent(_("Same outcome"), "share_same_fate"),
        c.number(_("Difference, points"), "mean_difference"),
        c.coefficient(_("Weighted kappa"), "kappa.value"),
        c.coefficient_ci(_("95% CI"), "kappa.ci95"),
        c.coefficient(_("Kappa of outcomes"), "fate_kappa.value"),
        c.coefficient_ci(_("95% CI"), "fate_kappa.ci95"),
        c.coefficient(_("Alpha"), "alpha.value"),
        c.coefficient_ci(_("95% CI"), "alpha.ci95"),
    )
    return c.page_table(_("Agreement between graders"), columns, own.pairs, "graded_pairs")


def _named(name: str) -> str:
    return {PEOPLE: _("people"), FIRST: _("a first person"), SECOND: _("a second")}.get(name, name)


def _biases(own: Reliability) -> list[Table]:
    columns = (
        c.text(_("The judge compared with people"), "0"),
        c.number(_("Points"), "1.estimate"),
        c.ci(_("95% CI"), "1.ci95"),
        c.p_value("p", "1.p"),
        c.p_value(_("p after Holm"), "1.p_holm"),
        c.count(_("Grades"), "1.n"),
    )
    named = (
        (_("for each doubling of an answer's length"), own.by_length),
        (_("for answers from its model family"), own.own_family),
    )
    rows = [(name, found) for name, found in named if isinstance(found, Bias)]
    return c.page_table(_("Influences on the judge"), columns, rows)


def _methods(own: Reliability) -> list[str]:
    pair = own.pairs[0]
    found = (pair.kappa, pair.fate_kappa, pair.alpha, own.by_length, own.own_family)
    return [one.method for one in found if not isinstance(one, MissingResult)]


def _corrected(own: CorrectedModels) -> list[Table]:
    columns = (
        c.text(_("Respondent"), "0.label"),
        c.text(_("Rate"), lambda row: RATES[row[1]]),
        c.count(_("Graded by people"), "0.found.rqr.n_sample"),
        c.percent(_("By the judge"), "2.judge.value"),
        c.percent(_("By people"), "2.human.value"),
        c.percent(_("Corrected"), "2.value"),
        c.share_ci(_("95% CI"), "2.ci95"),
    )
    caption = _("Rates corrected by people's grades")
    return c.page_table(caption, columns, corrections(own), "graded_corrected")


def _thresholds(own: Thresholds) -> list[Table]:
    """Quality and safety under each threshold of the points, the rubric's own marked; safety and abstention by each reading."""
    who = c.text(_("Respondent"), "0.label")
    good, safe, abstained = (rate_columns(str(RATES[rate]), f"1.{rate}") for rate in RATES)
    by_points = [
        (model, one)
        for model in own.models
        for one in model.thresholds
        if one.abstaining == Abstaining.RUBRIC
    ]
    by_reading = [(model, one) for model in own.models for one in model.readings]
    return [
        *c.page_table(
            _("Rates under other thresholds (* the rubric's)"),
            (who, c.shown(_("Good from"), lambda row: _good_from(row[1])), *good, *safe),
            by_points,
            "graded_thresholds",
        ),
        *c.page_table(
            _("Rates under other definitions of abstention"),
            (
                who,
                c.text(_("Abstained"), lambda row: READINGS[Abstaining(row[1].abstaining)]),
                *safe,
                *abstained,
            ),
            by_reading,
            "graded_thresholds",
        ),
    ]


def _good_from(threshold: Threshold) -> str:
    return f"{f.percent(threshold.good_from, 0)}{' *' if threshold.is_rule else ''}"
