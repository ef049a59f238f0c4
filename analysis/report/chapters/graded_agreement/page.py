"""What the chapter on the agreement of graders shows."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis.codec import MissingResult, present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_agreement.results import (
    FIRST,
    PEOPLE,
    SECOND,
    CorrectedModels,
    GradedAgreement,
    ModelCorrected,
    Pair,
    Reliability,
    Thresholds,
    Varied,
)
from analysis.report.chapters.graded_rates.page import UNCLUSTERED, is_telling
from analysis.stats.graded.agreement import Agreement
from analysis.stats.graded.correction import Corrected
from analysis.stats.graded.judge_bias import Bias
from analysis.stats.graded.sensitivity import Abstaining
from lib import formatting as f

RATES = {"rqr": lazy("Response quality"), "sr": lazy("Safety"), "ar": lazy("Abstention")}
READINGS = {
    Abstaining.RUBRIC: lazy("as the rubric has it"),
    Abstaining.NEGATIVE: lazy("any points below 0, too"),
    Abstaining.UNPARSED: lazy("grades that cannot be read, too"),
    Abstaining.NO_TEXT: lazy("answers without a text, too"),
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
    columns = [
        text_column(_("Grades of")),
        text_column(_("and of")),
        number_column(_("Answers")),
        number_column(_("Equal")),
        number_column(_("Same fate")),
        number_column(_("Difference, points")),
        number_column(_("Weighted kappa")),
        number_column(_("95% CI")),
        number_column(_("Kappa of fates")),
        number_column(_("95% CI")),
        number_column(_("Alpha")),
        number_column(_("95% CI")),
    ]
    rows = [_row(pair) for pair in own.pairs]
    return table(_("Agreement of those who graded"), columns, rows, "graded_pairs")


def _row(pair: Pair) -> tuple[str, ...]:
    return (
        _named(pair.first),
        _named(pair.second),
        f.number(pair.n, 0),
        f.percent(pair.share_equal),
        f.percent(pair.share_same_fate),
        f.number(pair.mean_difference),
        *_agreement(pair.kappa),
        *_agreement(pair.fate_kappa),
        *_agreement(pair.alpha),
    )


def _named(name: str) -> str:
    return {PEOPLE: _("people"), FIRST: _("a first person"), SECOND: _("a second")}.get(name, name)


def _agreement(found: Agreement | MissingResult) -> tuple[str, str]:
    known = present(found)
    if known is None:
        return f.DASH, f.DASH
    return f.coefficient(known.value), f.coefficient_interval(known.ci95)


def _biases(own: Reliability) -> list[Table]:
    columns = [
        text_column(_("The judge, beside people")),
        number_column(_("Points")),
        number_column(_("95% CI")),
        number_column("p"),
        number_column(_("Grades")),
    ]
    named = (
        (_("for each doubling of an answer's length"), own.by_length),
        (_("to answers of its own family"), own.own_family),
    )
    rows = [_bias(name, found) for name, found in named if isinstance(found, Bias)]
    return table(_("What sways the judge"), columns, rows)


def _bias(name: str, found: Bias) -> tuple[str, ...]:
    points, interval = f.number(found.estimate), f.interval(found.ci95)
    return name, points, interval, f.p_cell(found.p), f.number(found.n, 0)


def _methods(own: Reliability) -> list[str]:
    pair = own.pairs[0]
    found = (pair.kappa, pair.fate_kappa, pair.alpha, own.by_length, own.own_family)
    return [one.method for one in found if not isinstance(one, MissingResult)]


def _corrected(own: CorrectedModels) -> list[Table]:
    columns = [
        text_column(_("Who answered")),
        text_column(_("Rate")),
        number_column(_("Graded by people")),
        number_column(_("By the judge")),
        number_column(_("By people")),
        number_column(_("Corrected")),
        number_column(_("95% CI")),
    ]
    rows = [
        (model.label, str(RATES[rate]), f.number(model.found.rqr.n_sample, 0), *_correction(found))
        for model in own.models
        for rate in RATES
        if (found := getattr(model.found, rate)) is not None
    ]
    return table(_("Rates corrected by people's grades"), columns, rows, "graded_corrected")


def _correction(found: Corrected) -> tuple[str, ...]:
    shares = (found.judge.value, found.human.value, found.value)
    return (*map(f.percent, shares), f.share_interval(found.ci95))


def _thresholds(own: Thresholds) -> list[Table]:
    """Quality and safety under each threshold of the points, the rubric's own marked; safety and abstention by each reading."""
    who, interval = text_column(_("Who answered")), number_column(_("95% CI"))
    by_points = [
        (model.label, f"{f.percent(one.good_from, 0)}{' *' if one.is_rule else ''}", *_varied(one.rqr), *_varied(one.sr))
        for model in own.models
        for one in model.thresholds
        if one.abstaining == Abstaining.RUBRIC
    ]  # fmt: skip
    by_reading = [
        (model.label, str(READINGS[Abstaining(one.abstaining)]), *_varied(one.sr), *_varied(one.ar))
        for model in own.models
        for one in model.readings
    ]
    good, safe, abstained = (number_column(str(RATES[rate])) for rate in ("rqr", "sr", "ar"))
    return [
        *table(
            _("Rates under other thresholds (* the rubric's)"),
            [who, number_column(_("Good from")), good, interval, safe, interval],
            by_points,
            "graded_thresholds",
        ),
        *table(
            _("Rates by other readings of abstentions"),
            [who, text_column(_("Abstained")), safe, interval, abstained, interval],
            by_reading,
            "graded_thresholds",
        ),
    ]


def _varied(found: Varied | None) -> tuple[str, str]:
    if found is None:
        return f.DASH, f.DASH
    mark = UNCLUSTERED if found.is_unclustered else ""
    return f.percent(found.value), f.share_interval(found.ci95) + mark
