"""What the chapter on differences by test case shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.item_differences.results import Differences
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Differences).item_differences)
    columns = [
        text_column(_("Test case")),
        text_column(_("Subfield")),
        number_column(_("Humans")),
        number_column(_("Models")),
        number_column(_("Difference, points")),
        number_column("p"),
        number_column(_("q (FDR)")),
    ]
    rows = [
        (
            row.item,
            row.subfield or f.DASH,
            f.percent(row.humans, 0),
            f.percent(row.models_mean, 0),
            f.points(row.difference, 0),
            f.p_cell(row.p),
            f.p_cell(row.q),
        )
        for row in own.items
    ]
    caption = _("Test cases that differ most")
    return Page({"own": own}, table(caption, columns, rows, "item_differences"), [own.method])
