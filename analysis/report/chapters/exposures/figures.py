"""How often each test case was judged."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, bars, count_axis, finish, flag, upright
from analysis.charts.style import HALF, INK
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.exposures.results import ItemExposures
from lib.formatting import number


def exposures(source: SourceResults, tables: Tables) -> Figure:
    """Bars: how many test cases were judged once, twice, and so on; the mean as a line."""
    own = need(source.of(ItemExposures).exposures)
    histogram = pd.DataFrame(own.histogram, columns=["n", "items"])
    text = figure_text("exposures", {"own": own})
    drawn = finish(_chart(histogram, own.mean), text.alt)
    return Figure("exposures", text.title, text.caption, text.alt, histogram, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"exposures": exposures}


def _chart(histogram: pd.DataFrame, mean: float) -> Drawn:
    edges = histogram.assign(low=histogram["n"] - 0.5, high=histogram["n"] + 0.5)
    low, high = float(edges["low"].min()), float(edges["high"].max())
    x = alt.X(
        "low:Q",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(title="Judgments", tickMinStep=1, format="d", grid=False, tickCount=10),
    )
    return alt.layer(
        bars(edges, x, alt.Y("items:Q", axis=count_axis("Test cases"))),
        upright(mean, colour=INK),
        flag(mean, f"mean {number(mean)}", INK),
    ).properties(width=HALF - 52, height=180)
