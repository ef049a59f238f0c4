"""What the chapter on expertise shows."""

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.expertise.results import Expertise, Ratings, SubfieldSlopes
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
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
