"""What the chapter on calibration shows."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.confidence.results import (
    HUMAN_ROW,
    BinnedAccuracy,
    Calibration,
    CalibrationResults,
    ConfidenceFits,
    Expertise,
    HumanCalibration,
    ModelCalibration,
    Ratings,
    SubfieldSlopes,
    WithoutUntouched,
)
from analysis.stats.arrays import Interval
from analysis.stats.calibration import CalibrationError
from analysis.stats.logistic import Logistic
from lib import formatting as f

Groups = Sequence[tuple[str, ConfidenceFits]]


def calibration_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Calibration).calibration)
    if found is None:
        return Page({})
    humans = present(found.humans)
    if humans and not present(humans.binned):
        humans = None
    models = [m for m in found.models if present(m.binned)]
    fits = [fit for m in models if (fit := present(m.logistic))]
    sides = [f.lies(fit.slope_ci95) for fit in fits]
    logistic = present(humans.logistic) if humans else None
    binned = present(humans.binned) if humans else None
    line_ci95 = binned.line.slope_ci95 if binned else None
    context = {
        "binned": binned,
        "logistic": logistic,
        "slope_ci95": slope_interval(logistic) if logistic else line_ci95,
        "model_side": sides[0] if len(sides) == 1 else "",
        "n_models": len(sides),
        "n_rising": sides.count("above"),
        "family": found.models_tests,
    }
    groups: Groups = [*([(_("Humans"), humans)] if humans else []), *((m.label, m) for m in models)]
    tables = [*_regressions(humans, models), *_errors(groups), *_table_s3(found)]
    return Page(context, tables, list(_methods(humans, models, found.table_s3_note)))


def slope_interval(fit: Logistic) -> Interval:
    """Of people the one that lets the trials of a participant go together."""
    return fit.clustered_slope_ci95 or fit.slope_ci95


def _methods(
    humans: HumanCalibration | None, models: Sequence[ModelCalibration], s3_note: str
) -> Iterator[str]:
    if humans:
        if binned := present(humans.binned):
            yield binned.bin_rule
        if logistic := present(humans.logistic):
            yield logistic.method
    people = present(humans.ece) if humans else None
    # They differ between models in numbers only
    model = next((ece for m in models if (ece := present(m.ece))), None)
    errors: list[tuple[str, CalibrationError]] = []
    errors += [(_("Humans"), people)] if people else []
    errors += [(_("Models"), model)] if model else []
    yield from (error.method for _who, error in errors[:1])
    yield from (f"{who}: {error.ci_method}" for who, error in errors)
    yield s3_note
    for _who, error in errors:
        yield _("Bins of the calibration error: %(rule)s.") % {"rule": error.rule}


def _regressions(
    humans: HumanCalibration | None, models: Sequence[ModelCalibration]
) -> list[Table]:
    rows = [_regression(_people(humans), humans)] if humans else []
    if humans and (untouched := present(humans.without_untouched)):
        who = _("Humans, without untouched sliders")
        rows.append((who, *_line_cells(untouched), f.DASH, f.DASH, f.DASH))
    rows += [_regression(m.label, m, m.holm_p) for m in models]
    columns = [
        text_column(_("Who")),
        number_column(_("n")),
        number_column(_("r of the bins")),
        number_column("p"),
        number_column(_("Logistic slope")),
        number_column(_("95% CI")),
        number_column(_("p of the slope after Holm")),
    ]
    caption = _("Confidence and accuracy: regression over bins, and the full-sample logistic fit")
    return table(caption, columns, rows, "calibration_bins")


def _people(humans: HumanCalibration) -> str:
    fit = present(humans.logistic)
    is_clustered = fit is not None and fit.clustered_slope_ci95 is not None
    return _("Humans (CI clustered by participant)") if is_clustered else _("Humans")


def _regression(who: str, fits: ConfidenceFits, holm_p: float | None = None) -> tuple[str, ...]:
    fit = present(fits.logistic)
    slope = (
        (f.compact(fit.slope), f.compact_interval(slope_interval(fit))) if fit else (f.DASH, f.DASH)
    )
    return (who, *_line_cells(present(fits.binned)), *slope, f.p_cell(holm_p))


def _line_cells(found: BinnedAccuracy | WithoutUntouched | None) -> tuple[str, str, str]:
    if found is None:
        return f.DASH, f.DASH, f.DASH
    return f.number(found.n, 0), f.coefficient(found.line.r), f.p_cell(found.line.p)


def _errors(groups: Groups) -> list[Table]:
    columns = [
        text_column(_("Who")),
        number_column(_("n")),
        number_column(_("Error")),
        number_column(_("95% CI")),
        number_column(_("If calibrated, mean")),
        number_column(_("If calibrated, 95th percentile")),
        number_column(_("Bins")),
    ]
    rows = [
        (
            who,
            f.number(ece.n, 0),
            f.number(ece.value, 3),
            f.interval(ece.ci95, 3),
            f.number(ece.when_calibrated, 3),
            f.number(ece.when_calibrated_q95, 3),
            f.number(ece.n_bins, 0),
        )
        for who, fits in groups
        if (ece := present(fits.ece))
    ]
    caption = _("Expected calibration error, and what perfect calibration would show by chance")
    return table(caption, columns, rows)


def _table_s3(found: CalibrationResults) -> list[Table]:
    columns = [
        text_column(_("Who")),
        number_column(_("Coefficient")),
        number_column(_("SEM")),
        number_column(_("Intercept")),
        number_column("t"),
    ]
    rows = [
        (
            _("Humans") if row.name == HUMAN_ROW.name else row.label,
            f.number(fit.coef_mean, 3),
            f.number(fit.coef_sem, 3),
            f.number(fit.intercept_mean, 3),
            f.number(fit.t, 1),
        )
        for row in found.table_s3
        if (fit := present(row.fit))
    ]
    caption = _("The paper's Table S3 procedure; its t is no valid test, since the samples overlap")
    return table(caption, columns, rows, "table_s3")


# --- What the chapter on expertise shows.


def expertise_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Expertise).expertise)
    if found is None:
        return Page({})
    binned = present(found.calibration[0].binned)
    context = {
        "whole": found.distributions[-1],
        "binned": binned,
        "has_correlation": binned is not None and f.is_known(binned.line.r),
        "slope": (slope := present(found.slope)),
        "family": subfields.tests if (subfields := present(found.slopes_by_subfield)) else None,
    }
    columns = [
        text_column(_("Subfield")),
        number_column(_("Trials")),
        number_column(_("Mean")),
        number_column(_("SD")),
        number_column(_("Median")),
        number_column(_("Quartiles")),
        number_column(_("80th percentile")),
        number_column(_("95% CI")),
    ]
    rows = [_row(own) for own in found.distributions]
    tables = table(_("Self-rated expertise, 1 to 100"), columns, rows, "expertise_histogram")
    if subfields:
        tables += _slopes(subfields)
    methods = [own.method for own in found.p80_by_subfield[:1]]
    methods += [slope.slope.method] if slope else []
    methods += [subfields.tests.method] if subfields else []
    return Page(context, tables, methods)


def _slopes(found: SubfieldSlopes) -> list[Table]:
    columns = [
        text_column(_("Subfield")),
        number_column(_("Trials")),
        number_column(_("Slope, log-odds per point")),
        number_column(_("95% CI, two-way")),
        number_column("p"),
        number_column(_("p after Holm")),
    ]
    rows = [
        (
            own.subfield or _("not stated"),
            f.number(own.slope.n, 0),
            f.number(own.slope.slope, 4),
            f.interval(own.slope.ci95, 4),
            f.p_cell(own.slope.p),
            f.p_cell(own.holm_p),
        )
        for own in found.subfields
    ]
    return table(_("Accuracy over expertise within subfields"), columns, rows)


def _row(own: Ratings) -> tuple[str, ...]:
    found = own.ratings
    return (
        own.subfield or _("not stated"),
        f.number(found.n, 0),
        f.number(found.mean, 1),
        f.number(found.sd, 1),
        f.number(found.median, 0),
        f.interval((found.q1, found.q3), 0),
        f.number(found.p80, 1),
        f.interval(found.p80_ci95, 0),
    )
