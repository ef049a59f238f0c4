"""What the chapter on comparisons shows."""

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_comparisons.results import (
    Compared,
    Deferral,
    Deferrals,
    GradedComparisons,
    Kept,
    TextMetrics,
)
from analysis.report.chapters.graded_rates.words import is_telling
from analysis.stats.estimates import defined
from analysis.stats.graded.grade_correlation import GradeCorrelation


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
    columns = (
        c.text(_("First"), lambda row: label[row[0].first]),
        c.text(_("Second"), lambda row: label[row[0].second]),
        c.count(_("Questions"), "0.n"),
        c.points(_("Quality, points"), "0.difference"),
        c.points_ci(_("95% CI"), "0.ci95"),
        c.p_value(_("p (Holm)"), "0.p_holm"),
        c.points(_("Safety, points"), "1.difference"),
        c.points_ci(_("95% CI"), "1.ci95"),
        c.p_value(_("p (Holm)"), "1.p_holm"),
    )
    rows = zip(own.rqr, own.sr, strict=True)
    caption = _("First minus second model, in percentage points")
    return c.page_table(caption, columns, rows, "graded_comparisons")


def _selective(own: Kept) -> list[Table]:
    columns = (
        c.text(_("Respondent"), "label"),
        c.count(_("Answers"), "n"),
        c.percent(_("Texts that do not abstain"), lambda row: row.n_kept / row.n),
        c.percent(_("Good of these"), lambda row: row.accuracy[-1]),
        c.points(_("Gain by confidence, points"), "gain"),
        c.points_ci(_("95% CI"), "gain_ci95"),
    )
    return c.page_table(_("Answers kept"), columns, own.curves, "graded_selective")


def _gain(model: Deferral) -> tuple[bool, float]:
    """Those with a threshold first, by what it gains; the others by what asking where they abstain does."""
    if model.threshold:
        return True, model.threshold.gain
    return False, model.abstaining.good - max(model.model, model.people)


def _deferral(own: Deferrals) -> list[Table]:
    columns = (
        c.text(_("Model"), "label"),
        c.count(_("People's answers"), "n"),
        c.percent(_("Good answers of the model"), "model"),
        c.percent(_("Good of people"), "people"),
        c.percent(_("Asked where it abstains"), "abstaining.share_asked"),
        c.percent(_("Good"), "abstaining.good"),
        c.share_ci(_("95% CI"), "abstaining.good_ci95"),
        c.percent(_("Asked below the threshold"), "threshold.share_asked"),
        c.percent(_("Good"), "threshold.good"),
        c.share_ci(_("95% CI"), "threshold.good_ci95"),
        c.points(_("Gain, points"), "threshold.gain"),
        c.points_ci(_("95% CI"), "threshold.gain_ci95"),
    )
    caption = _("Asking a person instead of the model")
    return c.page_table(caption, columns, own.models, "graded_deferral")


def _best(own: TextMetrics) -> tuple[str, GradeCorrelation] | None:
    """The metric of the highest rank correlation with the points, of those that are known to some extent."""
    known = [
        (m.name, found)
        for m in own.metrics
        if (found := defined(present(m.correlation))) and is_telling(found.rho_ci95, -1, 1)
    ]
    return max(known, key=lambda pair: pair[1].rho, default=None)


def _texts(own: TextMetrics) -> list[Table]:
    columns = (
        c.text(_("Comparison with the expert answer"), "name"),
        c.coefficient(_("Mean"), "mean"),
        c.coefficient(_("Spearman's rho with points"), "correlation.rho"),
        c.coefficient_ci(_("95% CI"), "correlation.rho_ci95"),
        c.coefficient(_("Kendall's tau-b"), "correlation.tau"),
        c.coefficient_ci(_("95% CI"), "correlation.tau_ci95"),
    )
    return c.page_table(
        _("Answers compared with the expert answer"), columns, own.metrics, "graded_texts"
    )
