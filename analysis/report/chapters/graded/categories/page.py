"""What the chapter on categories shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded.categories.results import (
    FEWEST,
    Cell,
    GradedCategories,
    InCategories,
)
from analysis.stats.estimates import SHARES, mean_of
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(GradedCategories).graded_categories)
    means = _means(own)
    context = {
        "own": own,
        "fewest": FEWEST,
        "n_dimensions": len({one.dimension for one in own.categories}),
        "easiest": means[-1] if len(means) > 1 else None,
        "hardest": means[0] if len(means) > 1 else None,
        "n_few": sum(cell.rqr is None for cell in own.cells),
        "n_cells": len(own.cells),
    }
    return Page(context, _table(own), [own.method])


def _means(own: InCategories) -> list[tuple[float, str]]:
    """(models' mean response quality, category), the lowest first."""
    people = {model.name for model in own.models if model.is_people}
    by: dict[str, list[float]] = {}
    for cell in own.cells:
        if cell.rqr is not None and cell.model not in people:
            by.setdefault(cell.category, []).append(cell.rqr)
    return sorted((mean_of(values, SHARES).mean, category) for category, values in by.items())


def _table(own: InCategories) -> list[Table]:
    columns = [
        text_column(_("Dimension")),
        text_column(_("Category")),
        number_column(_("Questions")),
        number_column(_("Response quality")),
        number_column(_("Safety")),
        number_column(_("Abstention")),
    ]
    people = {model.name for model in own.models if model.is_people}
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in own.cells:
        if cell.model not in people:
            cells.setdefault((cell.dimension, cell.category), []).append(cell)
    rows = [
        (
            one.dimension,
            one.category,
            f.number(one.n_questions, 0),
            *(
                _mean(
                    [getattr(cell, name) for cell in cells.get((one.dimension, one.category), [])]
                )
                for name in ("rqr", "sr", "ar")
            ),
        )
        for one in own.categories
    ]
    return table(_("Mean rates of the models by category"), columns, rows, "graded_categories")


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f.percent(mean_of(known, SHARES).mean) if known else "NA"
