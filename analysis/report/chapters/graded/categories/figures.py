"""Heatmaps of the rates by category, and how many questions each category has."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, text_width
from analysis.charts.rows import labels, short
from analysis.charts.style import FULL, INK, MODELS
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.graded.categories.results import (
    FEWEST,
    GradedCategories,
    InCategories,
)
from analysis.report.chapters.graded.drawn import NA, TALL, category_labels, heatmap, left_of, who

RATES = {"rqr": "Response quality rate", "sr": "Safety rate", "ar": "Abstention rate"}


def counts(source: SourceResults, tables: Tables) -> Figure:
    """A bar for each category, as long as it has questions, its number at the end."""
    own = need(source.of(GradedCategories).graded_categories)
    rows = category_labels(own.categories)
    frame = pd.DataFrame(
        {
            "dimension": [one.dimension for one in own.categories],
            "category": [one.category for one in own.categories],
            "n_questions": [one.n_questions for one in own.categories],
            "row": [rows[one.dimension, one.category] for one in own.categories],
        }
    )
    text = figure_text("graded/counts", {"own": own})
    drawn = finish(_stacked([_bars(frame, name) for name in _dimensions(own)]), text.alt)
    table = frame.drop(columns="row")
    return Figure("graded_counts", text.title, text.caption, text.alt, table, drawn)


def rate_map(rate: str, source: SourceResults, tables: Tables) -> Figure:
    """A heatmap of one rate: a row for each category, by dimension, a column for each who answered."""
    own = need(source.of(GradedCategories).graded_categories)
    cells = _cells(own, rate)
    text = figure_text(
        f"graded/heatmap_{rate}",
        {"own": own, "fewest": FEWEST, "range": _range(own, rate), **who(own.models)},
    )
    label = labels(own.models)
    left = left_of([*cells["row"].unique(), *_dimensions(own)])
    drawn = _stacked(
        [
            heatmap(
                cells[cells["dimension"] == name],
                list(cells[cells["dimension"] == name]["row"].unique()),
                list(label.values()),
                name=short(name, 30),
                title=RATES[rate],
                left=left,
                with_columns=number == 0,
            )
            for number, name in enumerate(_dimensions(own))
        ]
    )
    table = cells[["dimension", "category", "name", "n", "value"]].rename(columns={"value": rate})
    name = f"graded_heatmap_{rate}"
    return Figure(name, text.title, text.caption, text.alt, table, finish(drawn, text.alt))


FIGURES: Mapping[str, FigureBuilder] = {
    **{f"graded_heatmap_{rate}": partial(rate_map, rate) for rate in RATES},
    "graded_counts": counts,
}


def _dimensions(own: InCategories) -> list[str]:
    return list(dict.fromkeys(one.dimension for one in own.categories))


def _cells(own: InCategories, rate: str) -> pd.DataFrame:
    rows, label = category_labels(own.categories), labels(own.models)
    frame = pd.DataFrame(
        {
            "dimension": [cell.dimension for cell in own.cells],
            "category": [cell.category for cell in own.cells],
            "name": [cell.model for cell in own.cells],
            "row": [rows[cell.dimension, cell.category] for cell in own.cells],
            "column": [label[cell.model] for cell in own.cells],
            "n": [cell.n_not_good if rate == "sr" else cell.n_rows for cell in own.cells],
            "value": pd.Series([getattr(cell, rate) for cell in own.cells], dtype=float),
        }
    )
    texts = [NA if pd.isna(value) else f"{100 * value:.0f}" for value in frame["value"]]
    return frame.assign(text=texts)


def _range(own: InCategories, rate: str) -> dict[str, Any]:
    """The lowest and the highest cell, for those who do not see the map."""
    label = labels(own.models)
    known = [
        (value, cell.category, label[cell.model])
        for cell in own.cells
        if (value := getattr(cell, rate)) is not None
    ]
    if not known:
        return {}
    return {"low": min(known), "high": max(known)}


def _bars(frame: pd.DataFrame, dimension: str) -> Drawn:
    own = frame[frame["dimension"] == dimension]
    most, left = float(frame["n_questions"].max()), max(text_width(list(frame["row"])), 60) + 8
    y = alt.Y(
        "row:N",
        scale=alt.Scale(domain=list(own["row"]), paddingInner=0.25),
        sort=None,
        axis=alt.Axis(title=None, minExtent=left, maxExtent=left, labelPadding=6),
    )
    x = alt.X("n_questions:Q", scale=alt.Scale(domain=[0, most], nice=False), axis=None)
    data = chart(own)
    bars = data.mark_bar(color=MODELS).encode(x=x, y=y)
    words = data.mark_text(align="left", dx=4, color=INK).encode(
        x=x, y=y, text=alt.Text("n_questions:Q", format=",d")
    )
    plot = alt.layer(bars, words).properties(width=FULL - left - 60, height=TALL * len(own))
    title = alt.TitleParams(dimension, color=INK, fontSize=11, offset=6, frame="group")
    return plot.properties(title=title)


def _stacked(parts: Sequence[Drawn]) -> Drawn:
    return alt.vconcat(*parts, spacing=14)
