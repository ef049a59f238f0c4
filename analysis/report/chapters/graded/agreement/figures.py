"""The table of judge and people as a picture."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish
from analysis.charts.style import INK, PALE
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.graded.agreement.corrected_figures import corrected, thresholds
from analysis.report.chapters.graded.agreement.results import Confusion, GradedAgreement
from analysis.report.chapters.graded.drawn import HEAT
from lib.formatting import MINUS

CELL = 44  # px


def confusion(source: SourceResults, tables: Tables) -> Figure:
    """A cell for each two grades: how many answers; shaded by its share of what people gave that grade."""
    own = need(source.of(GradedAgreement).graded_agreement)
    table = need(own.confusion)
    cells = _cells(table)
    n_equal = sum(row[k] for k, row in enumerate(table.counts))
    text = figure_text(
        "graded/confusion",
        {"own": own, "table": table, "n": int(cells["n"].sum()), "n_equal": n_equal},
    )
    drawn = finish(_chart(cells, table), text.alt)
    shown = cells[["judge_points", "human_points", "n", "share"]]
    return Figure("graded_confusion", text.title, text.caption, text.alt, shown, drawn)


FIGURES: Mapping[str, FigureBuilder] = {
    "graded_confusion": confusion,
    "graded_corrected": corrected,
    "graded_thresholds": thresholds,
}


def _cells(table: Confusion) -> pd.DataFrame:
    counts = np.array(table.counts)
    total = counts.sum(axis=0)
    rows = [
        {
            "judge_points": judge,
            "human_points": human,
            "n": int(counts[i, j]),
            "share": float(counts[i, j] / total[j]) if total[j] else np.nan,
            "x": j,
            "x2": j + 1,
            "y": len(table.values) - i,
            "y2": len(table.values) - i - 1,
        }
        for i, judge in enumerate(table.values)
        for j, human in enumerate(table.values)
    ]
    return pd.DataFrame(rows)


def _chart(cells: pd.DataFrame, table: Confusion) -> Drawn:
    k = len(table.values)
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, k], nice=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[k, 0], nice=False), axis=None)
    known = cells[cells["n"] > 0]
    colours = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], range=HEAT),
        legend=alt.Legend(title="Share of the column", format=".0%", gradientLength=160, gradientThickness=10, values=[0, 0.5, 1]),
    )  # fmt: skip
    frame = (
        chart(cells).mark_rect(color="white", stroke=PALE).encode(x=x, x2="x2:Q", y=y, y2="y2:Q")
    )
    shaded = (
        chart(known).mark_rect(stroke="white").encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colours)
    )
    words = known.assign(
        x=known["x"] + 0.5,
        y=known["y"] - 0.5,
        ink=["white" if share > 0.55 else INK for share in known["share"]],
    )
    ink = alt.Color("ink:N", scale=None, legend=None)
    numbers = chart(words).mark_text().encode(
        x=x, y=y, text=alt.Text("n:Q", format=",d"), color=ink
    )  # fmt: skip
    return alt.layer(frame, shaded, numbers, *_axes(table)).properties(
        width=CELL * k, height=CELL * 0.62 * k
    )


def _axes(table: Confusion) -> list[Drawn]:
    """Grades beside and below, abstention by its name, and whose they are."""
    k = len(table.values)
    names = ["abstained" if v < 0 else f"{v:g}".replace("-", MINUS) for v in table.values]
    below = pd.DataFrame({"x": [n + 0.5 for n in range(k)], "name": names})
    beside = pd.DataFrame({"y": [k - n - 0.5 for n in range(k)], "name": names})
    height = CELL * 0.62 * k
    whose: list[Any] = [
        alt.Chart(alt.InlineData(values=[{"text": "Points by people"}]))
        .mark_text(align="center", baseline="top", color=INK)
        .encode(x=alt.value(CELL * k / 2), y=alt.value(height + 22), text="text:N"),
        alt.Chart(alt.InlineData(values=[{"text": "Points by the judge"}]))
        .mark_text(align="center", baseline="bottom", color=INK, angle=270)
        .encode(x=alt.value(-62), y=alt.value(height / 2), text="text:N"),
    ]
    return [
        chart(below)
        .mark_text(baseline="top")
        .encode(x=alt.X("x:Q"), y=alt.value(height + 5), text="name:N"),
        chart(beside)
        .mark_text(align="right", dx=-6)
        .encode(x=alt.value(0), y=alt.Y("y:Q"), text="name:N"),
        *whose,
    ]
