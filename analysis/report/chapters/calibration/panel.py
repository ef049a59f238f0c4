"""A panel of binned accuracy over the ranks of confidence or expertise, with the regression line."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from analysis.charts.marks import CHANCE, Drawn, chart, dots, level, own_colour, share_domain
from analysis.codec import to_json
from analysis.report.chapters.calibration.results import BinnedAccuracy

COLUMNS = ["bin", "midpoint", "confidence", "n", "n_correct", "accuracy", "low", "high", "fit"]


def bins_frame(found: BinnedAccuracy) -> pd.DataFrame:
    """One row per bin with its interval, its place among all ranks (0 to 1) and the regression's value there."""
    frame = pd.DataFrame(to_json(found.bins)).reindex(columns=COLUMNS)
    frame["low"] = [one.ci95[0] for one in found.bins]
    frame["high"] = [one.ci95[1] for one in found.bins]
    frame["confidence"] = frame["midpoint"] / found.n
    frame["fit"] = found.line.intercept + found.line.slope * frame["midpoint"].astype(float)
    return frame


def with_line(frames: Sequence[pd.DataFrame]) -> list[float]:
    """The ends of the accuracies' axis: all intervals are within, and the lines, which may leave 0 to 1."""
    every = pd.concat([frame[["low", "high", "fit"]] for frame in frames])
    low, high = share_domain([*every["low"], *every["high"]])
    return [min(low, float(every["fit"].min())), max(high, float(every["fit"].max()))]


def bins_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as a reader of the figure's table needs it."""
    return frame.drop(columns="confidence").rename(columns={"low": "ci_low", "high": "ci_high"})


def panel(frame: pd.DataFrame, colour: str, x: alt.X, y: alt.Y, size: int = 30) -> Drawn:
    """Dots with intervals, the regression line, chance."""
    data = chart(frame.assign(colour=colour))
    bars = data.mark_rule(opacity=0.45, strokeWidth=1).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q", color=own_colour()
    )
    points = dots(data, size=size).encode(x=x, y=y)
    line = data.mark_line(strokeWidth=1.6).encode(x=x, y=alt.Y("fit:Q"), color=own_colour())
    return alt.layer(level(CHANCE), bars, line, points)


def x_of_rank(axis: alt.Axis) -> alt.X:
    return alt.X("confidence:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)
