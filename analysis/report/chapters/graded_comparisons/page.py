"""What the chapter on comparisons shows."""

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_comparisons.results import (
    Asking,
    Compared,
    Deferral,
    Deferrals,
    GradedComparisons,
    Kept,
    TextMetrics,
)
from analysis.report.chapters.graded_rates.page import is_telling
from analysis.stats.estimates import defined
from analysis.stats.graded.grade_correlation import GradeCorrelation
from lib import formatting as f


def graded_comparisons_page(source: SourceResults, about: About) -> Page:
    own = source.of(GradedComparisons)
    compared, selective = present(own.graded_comparisons), present(own.graded_selective)
    texts, deferral = present(own.graded_texts), present(own.graded_deferral)
    context = {
        "compared": compared,
        "n_models": len(compared.models) if compared else 0,
        "rqr_clear": compared.clear("rqr") if compared else [],
        "sr_clear": compared.clear("sr") if compared else [],
        "texts": texts,
        "best_metric": _best(texts) if texts else None,
        "deferral": max(deferral.models, key=_gain) if deferral else None,
        "curves": [curve for curve in selective.curves if curve.is_curve] if selective else [],
    }
    tables = [
        *(_pairs(compared) if compared else ()),
        *(_selective(selective) if selective else ()),
        *(_deferral(deferral) if deferral else ()),
        *(_texts(texts) if texts else ()),
    ]
    methods = [one.method for one in (compared, selective, deferral, texts) if one is not None]
    methods += [selective.rule] if selective else []
    methods += [texts.bert_method] if texts and texts.bert_method else []
    return Page(context, tables, methods)


def _pairs(own: Compared) -> list[Table]:
    label = {model.name: model.label for model in own.models}
    columns = [
        text_column(_("First")),
        text_column(_("Second")),
        number_column(_("Questions")),
        number_column(_("Quality, points")),
        number_column(_("95% CI")),
        number_column(_("p (Holm)")),
        number_column(_("Safety, points")),
        number_column(_("95% CI")),
        number_column(_("p (Holm)")),
    ]
    rows = [
        (
            label[one.first],
            label[one.second],
            f.number(one.n, 0),
            f.points(one.difference),
            f.points_interval(one.ci95),
            f.p_cell(one.p_holm),
            f.points(other.difference),
            f.points_interval(other.ci95),
            f.p_cell(other.p_holm),
        )
        for one, other in zip(own.rqr, own.sr, strict=True)
    ]
    caption = _("First less second model, in percentage points")
    return table(caption, columns, rows, "graded_comparisons")


def _selective(own: Kept) -> list[Table]:
    columns = [
        text_column(_("Who answered")),
        number_column(_("Answers")),
        number_column(_("Texts that do not abstain")),
        number_column(_("Good of these")),
        number_column(_("Gain by confidence, points")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            curve.label,
            f.number(curve.n, 0),
            f.percent(curve.n_kept / curve.n),
            f.percent(curve.accuracy[-1]),
            f.points(curve.gain),
            f.points_interval(curve.gain_ci95),
        )
        for curve in own.curves
    ]
    return table(_("Answers that are kept"), columns, rows, "graded_selective")


def _gain(model: Deferral) -> tuple[bool, float]:
    """Those with a threshold first, by what it gains; the others by what asking where they abstain does."""
    if model.threshold:
        return True, model.threshold.gain
    return False, model.abstaining.good - max(model.model, model.people)


def _deferral(own: Deferrals) -> list[Table]:
    columns = [
        text_column(_("Model")),
        number_column(_("People's answers")),
        number_column(_("Good of the model")),
        number_column(_("Good of people")),
        number_column(_("Asked where it abstains")),
        number_column(_("Good")),
        number_column(_("95% CI")),
        number_column(_("Asked below the threshold")),
        number_column(_("Good")),
        number_column(_("95% CI")),
        number_column(_("Gain, points")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            model.label,
            f.number(model.n, 0),
            f.percent(model.model),
            f.percent(model.people),
            *_asking(model.abstaining),
            *_asking(model.threshold),
            *(
                (f.points(found.gain), f.points_interval(found.gain_ci95))
                if (found := model.threshold)
                else (f.DASH, f.DASH)
            ),
        )
        for model in own.models
    ]
    return table(_("Asking a person instead of the model"), columns, rows, "graded_deferral")


def _asking(found: Asking | None) -> tuple[str, str, str]:
    if found is None:
        return f.DASH, f.DASH, f.DASH
    interval = f.share_interval(found.good_ci95) if found.good_ci95 else f.DASH
    return f.percent(found.share_asked), f.percent(found.good), interval


def _best(own: TextMetrics) -> tuple[str, GradeCorrelation] | None:
    """The metric that goes most with the points, of those of which it is known on which side of none they are."""
    known = [
        (m.name, found)
        for m in own.metrics
        if (found := defined(present(m.correlation)))
        and is_telling(found.rho_ci95, -1, 1)
        and f.lies(found.rho_ci95) != "around"
    ]
    return max(known, key=lambda pair: pair[1].rho, default=None)


def _texts(own: TextMetrics) -> list[Table]:
    columns = [
        text_column(_("Beside the expert answer")),
        number_column(_("Mean")),
        number_column(_("Spearman's rho with points")),
        number_column(_("95% CI")),
        number_column(_("Kendall's tau-b")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            metric.name,
            f.coefficient(metric.mean),
            *_correlation(present(metric.correlation)),
        )
        for metric in own.metrics
    ]
    return table(_("Answers beside the expert answer"), columns, rows, "graded_texts")


def _correlation(found: GradeCorrelation | None) -> tuple[str, ...]:
    if found is None:
        return (f.DASH,) * 4
    return (
        f.coefficient(found.rho),
        f.coefficient_interval(found.rho_ci95),
        f.coefficient(found.tau),
        f.coefficient_interval(found.tau_ci95),
    )
