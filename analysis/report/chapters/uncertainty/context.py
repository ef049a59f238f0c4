"""What the chapter on crossed uncertainty shows."""

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import need, present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.uncertainty.results import (
    Crossed,
    CrossedErrors,
    Differences,
    Row,
    Sensitivity,
)


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
    columns = (
        c.text(_("Who"), "0"),
        c.percent(_("Accuracy"), "1.accuracy"),
        c.share_ci(_("95% CI, crossed"), "1.errors.ci95"),
        c.share_ci(_("95% CI, two-way"), "1.errors.two_way_ci95"),
        c.points(_("Minus humans, points"), "1.difference"),
        c.points_ci(_("95% CI, crossed"), "1.difference_errors.ci95"),
        c.points_ci(_("95% CI, two-way"), "1.difference_errors.two_way_ci95"),
    )
    caption = _("Crossed bootstrap and two-way intervals")
    return c.page_table(caption, columns, [row for row in rows if row[1]], "crossed")


# --- What the chapter on differences by test case shows.


def item_differences_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Differences).item_differences)
    columns = (
        c.text(_("Test case"), "item"),
        c.text(_("Subfield"), "subfield"),
        c.percent(_("Humans"), "humans", digits=0),
        c.percent(_("Models"), "models_mean", digits=0),
        c.points(_("Difference, points"), "difference", digits=0),
        c.p_value("p", "p"),
        c.p_value(_("q (FDR)"), "q"),
    )
    caption = _("Test cases with the largest differences")
    return Page(
        {"own": own}, c.page_table(caption, columns, own.items, "item_differences"), [own.method]
    )


# --- What the chapter on sensitivity shows.


def sensitivity_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Sensitivity).sensitivity) or ()
    moves = [
        abs(difference)
        for choice in found
        for difference in (choice.difference_humans, choice.difference_models)
        if difference is not None
    ]
    columns = (
        c.text(_("Analysis"), "what"),
        c.count(_("Test cases"), "n_items"),
        c.percent(_("Humans"), "humans.accuracy"),
        c.points(_("Change"), "difference_humans"),
        c.count(_("Models"), "models_mean.n"),
        c.percent(_("Models, mean"), "models_mean.mean"),
        c.points(_("Change"), "difference_models"),
    )
    tables = c.page_table(_("Main results under other choices"), columns, found, "sensitivity")
    return Page({"largest": max(moves, default=None)}, tables)
