"""What the chapter on calibration shows."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.confidence.results import (
    S3,
    Calibration,
    ConfidenceFits,
    Expertise,
    HumanCalibration,
    ModelCalibration,
    SubfieldSlopes,
)
from analysis.stats.arrays import Interval
from analysis.stats.calibration import CalibrationError
from lib import formatting as f

Groups = Sequence[tuple[str, ConfidenceFits]]


def calibration_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Calibration).calibration)
    if found is None:
        return Page({})
    humans = present(found.humans)
    if humans and not present(humans.binned):
        humans = None
    # A slope and an error need no bins of a line, which few test cases do not give
    models = [m for m in found.models if any(map(present, (m.binned, m.logistic, m.ece)))]
    sides = [model.direction.value for model in models if present(model.logistic)]
    slope = present(humans.slope) if humans else None
    binned = present(humans.binned) if humans else None
    context = {
        "binned": binned,
        "slope": slope,
        "model_side": sides[0] if len(sides) == 1 else "",
        "n_models": len(sides),
        "n_rising": sides.count("above"),
        "n_falling": sides.count("below"),
        "n_too_few": sides.count("too_few_to_say"),
        "family": found.models_tests,
        "has_asked": source.of(Accuracy).has_asked,
    }
    groups: Groups = [*([(_("Humans"), humans)] if humans else []), *((m.label, m) for m in models)]
    rows = [row for row in found.table_s3 if present(row.fit)]
    caption = _(
        "The BrainBench paper's Table S3 procedure; its t is not a valid test because the samples overlap"
    )
    table_s3 = c.page_table(caption, S3, rows, "table_s3")
    tables = [*_regressions(humans, models), *_errors(groups), *table_s3]
    return Page(context, tables, list(_methods(humans, models, found.table_s3_note)))


def _methods(
    humans: HumanCalibration | None, models: Sequence[ModelCalibration], s3_note: str
) -> Iterator[str]:
    if humans:
        if binned := present(humans.binned):
            yield binned.bin_rule
        if slope := present(humans.slope):
            yield slope.slope.method
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
    rows: list[tuple[str, Any, Any]] = []  # who, fits, what the line over bins is of
    if humans:
        rows.append((_("Humans"), humans, humans.binned))
        if untouched := present(humans.without_untouched):
            rows.append((_("Humans, without untouched sliders"), None, untouched))
    rows += [(m.label, m, m.binned) for m in models]
    columns = (
        c.text(_("Who"), "0"),
        c.count(_("n"), "2.n"),
        c.coefficient(_("r of the bins"), "2.line.r"),
        c.p_value("p", "2.line.p"),
        c.compact(_("Logistic slope"), "1.logistic.slope"),
        c.compact_ci(_("95% CI"), lambda row: _slope_of(row[1])),
        c.p_value(_("p of the slope after Holm"), lambda row: _holm_p(row[1])),
    )
    caption = _("Confidence and accuracy: regression over bins, and the full-sample logistic fit")
    return c.page_table(caption, columns, rows, "calibration_bins")


def _holm_p(fits: ConfidenceFits | None) -> float | None:
    slope = present(fits.slope) if isinstance(fits, HumanCalibration) else fits
    found: float | None = getattr(slope, "holm_p", None)
    return found


def _slope_of(fits: ConfidenceFits | None) -> Interval | None:
    """Of people for others, on other test cases; of a model, whose decisions are fixed, on others."""
    if isinstance(fits, HumanCalibration):
        slope = present(fits.slope)
        return slope.slope.ci95 if slope else None
    fit = present(fits.logistic) if fits else None
    return fit.slope_ci95 if fit else None


def _errors(groups: Groups) -> list[Table]:
    columns = (
        c.text(_("Who"), "0"),
        c.count(_("n"), "1.n"),
        c.number(_("Error"), "1.value", digits=3),
        c.ci(_("95% CI"), "1.ci95", digits=3),
        c.number(_("If calibrated, mean"), "1.when_calibrated", digits=3),
        c.number(_("If calibrated, 97.5th percentile"), "1.when_calibrated_q975", digits=3),
        c.count(_("Bins"), "1.n_bins"),
    )
    rows = [(who, ece) for who, fits in groups if (ece := present(fits.ece))]
    caption = _(
        "Expected calibration error, and the error that chance alone produces under perfect calibration"
    )
    return c.page_table(caption, columns, rows)


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
    columns = (
        c.text(_("Subfield"), lambda row: row.subfield or _("not stated")),
        c.count(_("Trials"), "ratings.n"),
        c.number(_("Mean"), "ratings.mean", digits=1),
        c.number(_("SD"), "ratings.sd", digits=1),
        c.count(_("Median"), "ratings.median"),
        c.ci(_("Quartiles"), lambda row: (row.ratings.q1, row.ratings.q3), digits=0),
        c.number(_("80th percentile"), "ratings.p80", digits=1),
        c.ci(_("95% CI"), "ratings.p80_ci95", digits=0),
    )
    tables = c.page_table(
        _("Self-rated expertise, 1 to 100"), columns, found.distributions, "expertise_histogram"
    )
    if subfields:
        tables += _slopes(subfields)
    methods = [own.method for own in found.p80_by_subfield[:1]]
    methods += [slope.slope.method] if slope else []
    methods += [subfields.tests.method] if subfields else []
    return Page(context, tables, methods)


def _slopes(found: SubfieldSlopes) -> list[Table]:
    columns = (
        c.text(_("Subfield"), lambda row: row.subfield or _("not stated")),
        c.count(_("Trials"), "slope.n"),
        c.number(_("Slope, log-odds per point"), "slope.slope", digits=4),
        c.ci(_("95% CI, two-way"), "slope.ci95", digits=4),
        c.p_value("p", "slope.p"),
        c.p_value(_("p after Holm"), "holm_p"),
    )
    return c.page_table(_("Accuracy over expertise within subfields"), columns, found.subfields)
