"""What the chapter on crossed uncertainty shows."""

from django.utils.translation import gettext as _

from analysis.codec import need, present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.uncertainty.results import (
    Crossed,
    CrossedErrors,
    Differences,
    Row,
    Sensitivity,
)
from lib import formatting as f


def crossed_page(source: SourceResults, about: About) -> Page:
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


# --- What the chapter on differences by test case shows.


def item_differences_page(source: SourceResults, about: About) -> Page:
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


# --- What the chapter on sensitivity shows.


def sensitivity_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Sensitivity).sensitivity) or ()
    moves = [
        abs(difference)
        for choice in found
        for difference in (choice.difference_humans, choice.difference_models)
        if difference is not None
    ]
    columns = [
        text_column(_("Analysis")),
        number_column(_("Test cases")),
        number_column(_("Humans")),
        number_column(_("Change")),
        number_column(_("Models, mean")),
        number_column(_("Change")),
    ]
    rows = [
        (
            choice.what,
            f.number(choice.n_items, 0),
            f.percent(choice.humans.accuracy if choice.humans else None),
            f.points(choice.difference_humans),
            f.percent(choice.models_mean.mean if choice.models_mean else None),
            f.points(choice.difference_models),
        )
        for choice in found
    ]
    tables = table(_("The headline under other choices"), columns, rows, "sensitivity")
    return Page({"largest": max(moves, default=None)}, tables)
