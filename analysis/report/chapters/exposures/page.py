"""What the chapter on exposures shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import number_column, table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.exposures.results import ItemExposures
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ItemExposures).exposures)
    columns = [number_column(_("Times judged")), number_column(_("Test cases"))]
    rows = [(f.number(row.n, 0), f.number(row.items, 0)) for row in own.histogram]
    return Page({"own": own}, table(_("Exposures"), columns, rows, "exposures_items"))
