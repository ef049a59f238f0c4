"""How long people took for a judgment, on a logarithmic axis."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, bars, count_axis, finish, flag, upright
from analysis.charts.style import HALF, INK
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.reaction_times.results import ReactionTimes
from lib.formatting import number

TICKS = [0.1, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600, 7200, 36000]
# Seconds as people say them
TICK_TEXT = "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : datum.value / 3600 + ' h'"


def reaction_times(source: SourceResults, tables: Tables) -> Figure:
    """Bars over equal steps of log time; the median as a line."""
    own = need(source.of(ReactionTimes).reaction_times)
    frame = pd.DataFrame(own.histogram, columns=["low_s", "high_s", "n"])
    median_ms = own.quartiles[1]
    text = figure_text("reaction_times", {"own": own, "median_ms": median_ms})
    drawn = finish(_chart(frame, median_ms / 1000), text.alt)
    return Figure("reaction_times", text.title, text.caption, text.alt, frame, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"reaction_times": reaction_times}


def _chart(frame: pd.DataFrame, median_s: float) -> Drawn:
    edges = frame.rename(columns={"low_s": "low", "high_s": "high"})
    edges = edges[edges["n"].cumsum().gt(0) & edges["n"][::-1].cumsum()[::-1].gt(0)]
    low, high = float(edges["low"].min()), float(edges["high"].max())
    x = alt.X(
        "low:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(
            title="Time, logarithmic",
            values=[t for t in TICKS if low <= t <= high],
            labelExpr=TICK_TEXT,
            labelOverlap="greedy",
        ),
    )
    return alt.layer(
        bars(edges, x, alt.Y("n:Q", axis=count_axis("Judgments"))),
        upright(median_s, colour=INK),
        flag(median_s, f"median {number(median_s, 0)} s", INK),
    ).properties(width=HALF - 56, height=180)
