"""Where people and models differ, test case by test case."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, level, points_axis
from analysis.charts.rows import short
from analysis.charts.style import FULL, HUMANS, LINE, LOST, SOFT
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables, need_table
from analysis.report.chapters.item_differences.results import LEVEL, Differences

MARKED, OTHER = "differs (5% false discovery rate)", "no clear difference"
NAMED = 3  # test cases named at each end
HEIGHT = 260
NAME_HEIGHT = 14 * 2.1 / HEIGHT  # a line of text on the scale from -1.05 to 1.05
LABELS_AT = 0.3  # of the width, where the intervals have left the corner free
MOST = 3000  # dots; more are indistinguishable


def item_differences(source: SourceResults, tables: Tables) -> Figure:
    """Test cases ranked by the models' minus people's accuracy; those that differ after correction are coloured."""
    own = need(source.of(Differences).item_differences)
    items = need_table(tables, "item_differences")
    frame = items.sort_values("difference", kind="stable").reset_index(drop=True)
    frame["rank"] = frame.index + 1
    frame["kind"] = frame["q"].lt(LEVEL).map({True: MARKED, False: OTHER})
    shown = frame.iloc[:: -(-len(frame) // MOST)]
    context = {
        "own": own,
        "n_items": len(frame),
        "n_above": int((frame["difference"] > 0).sum()),
        "n_drawn": len(shown) if len(shown) < len(frame) else None,
    }
    text = figure_text("item_differences", context)
    drawn = finish(_chart(shown, frame), text.alt)
    return Figure("item_differences", text.title, text.caption, text.alt, frame, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"item_differences": item_differences}


def _chart(frame: pd.DataFrame, every: pd.DataFrame) -> Drawn:
    n = len(every)
    x = alt.X(
        "rank:Q",
        scale=alt.Scale(domain=[0, n + 1], nice=False),
        axis=alt.Axis(title="Test cases, ranked", grid=False, tickMinStep=1, format=",d"),
    )
    y = alt.Y(
        "difference:Q",
        scale=alt.Scale(domain=[-1.05, 1.05], nice=False),
        axis=points_axis("Models minus people", grid=True),
    )
    kinds = [k for k in (MARKED, OTHER) if (frame["kind"] == k).any()]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[{MARKED: LOST, OTHER: LINE}[k] for k in kinds]),
        legend=alt.Legend(title=None, symbolOpacity=1),
    )
    shown = frame.reindex(columns=["rank", "difference", "kind", "ci_low", "ci_high"])
    data = chart(shown)
    bars = data.mark_rule(strokeWidth=1, opacity=0.22).encode(
        x=x, y=alt.Y("ci_low:Q"), y2="ci_high:Q", color=colour
    )
    dots = data.mark_point(size=26).encode(x=x, y=y, color=colour)
    drawn = alt.layer(level(0.0), bars, dots, *_names(every, x, y))
    return drawn.properties(width=FULL - 76, height=HEIGHT)


def _names(every: pd.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Names of the outermost test cases beside the intervals, each with a line to its dot."""
    found = []
    n = len(every)
    sides: tuple[tuple[pd.DataFrame, Any, float], ...] = (
        (every, "left", LABELS_AT * n),
        (every[::-1], "right", (1 - LABELS_AT) * n),
    )
    for some, align, at in sides:
        names = _apart(some.head(n // 2))
        names = names.assign(text=[short(str(item), 40) for item in names["item"]], at=at)
        data = chart(names[["rank", "difference", "text", "at"]])
        leader = data.mark_rule(strokeWidth=0.6, color=SOFT).encode(x=x, x2="at:Q", y=y)
        dx = 3 if align == "left" else -3
        words = data.mark_text(align=align, dx=dx, color=HUMANS)
        found += [leader, words.encode(x=alt.X("at:Q"), y=y, text="text:N")]
    return found


def _apart(some: pd.DataFrame) -> pd.DataFrame:
    """The first few rows whose names would not write over each other."""
    chosen: list[int] = []
    for at, difference in enumerate(some["difference"]):
        if all(abs(difference - some["difference"].iloc[k]) > NAME_HEIGHT for k in chosen):
            chosen.append(at)
        if len(chosen) == NAMED:
            break
    return some.iloc[chosen]
