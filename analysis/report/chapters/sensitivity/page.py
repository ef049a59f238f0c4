"""What the chapter on sensitivity shows."""

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.sensitivity.results import Sensitivity
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
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
