"""What the chapter on crossed uncertainty shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.crossed.results import Crossed, CrossedErrors, Row
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Crossed).crossed)
    components = own.components
    # With one participant or one item nothing is drawn anew
    is_drawn = components and components.participants_only_se and components.items_only_se
    context = {"own": own, "components": components if is_drawn else None}
    return Page(context, _table(own), [own.method])


def _table(own: CrossedErrors) -> list[Table]:
    has_mean = own.models_mean is not None and own.models_mean.n != 1
    rows: list[tuple[str, Row | None]] = [
        (_("Humans"), own.human_row),
        (_("Models, mean"), own.mean_row if has_mean else None),
        *((model.label, row) for model, row in own.model_rows),
    ]
    columns = [
        text_column(_("Who")),
        number_column(_("Accuracy")),
        number_column(_("95% CI, crossed")),
        number_column(_("95% CI, two-way")),
        number_column(_("Minus humans, points")),
        number_column(_("95% CI, crossed")),
        number_column(_("95% CI, two-way")),
    ]
    cells = [
        (
            name,
            f.percent(row.accuracy),
            f.share_interval(row.errors.ci95),
            f.share_interval(row.errors.two_way_ci95),
            f.points(row.difference),
            f.points_interval(row.difference_errors.ci95),
            f.points_interval(row.difference_errors.two_way_ci95),
        )
        for name, row in rows
        if row
    ]
    return table(_("Crossed bootstrap and two-way intervals"), columns, cells, "crossed")
