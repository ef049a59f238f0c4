"""The traces of any one test case as a picture."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import finish
from analysis.charts.style import FULL
from analysis.presentation import figure_text
from analysis.report.chapters.flips.traces import LEFT, trace_panel

HEIGHT = 190


def item_trace(model: str, item: str, traces: Mapping[str, pd.DataFrame]) -> Figure:
    """By token, and below it by sentence."""
    panels = [trace_panel(frame, name, FULL - LEFT - 60, HEIGHT) for name, frame in traces.items()]
    text = figure_text("item_trace", {"model": model, "item": item})
    table = pd.concat([frame.assign(level=name) for name, frame in traces.items()])
    drawn = finish(alt.vconcat(*panels, spacing=16), text.alt)
    return Figure("item_trace", text.title, text.caption, text.alt, table, drawn)
