"""How many participants an interval of a given width needs."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish
from analysis.charts.style import FULL, HUMANS, LINE, SOFT
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.power.results import Power, PowerAnalysis, two_digits
from analysis.stats import NotEnough
from analysis.stats.power import Target
from lib.formatting import compact, number

COLUMNS = ["n_participants", "ci_width", "ci_width_low", "ci_width_high", "se"]


def power(source: SourceResults, tables: Tables) -> Figure:
    """Width of the 95% interval over the number of participants, on logarithmic axes; targets as lines.

    The band: were the standard deviation of test cases at either end of its interval.
    """
    own = need(source.of(Power).power)
    frame = (
        pd.DataFrame(own.curve)
        .reindex(columns=COLUMNS)
        .astype({"ci_width_low": float, "ci_width_high": float})
    )
    frame = frame[frame["ci_width"] > 0]
    if frame.empty:
        raise NotEnough("No width is above 0.", "Collect judgments first.")
    targets = [(target, _label(target, own)) for target in own.targets]
    context = {
        "own": own,
        "sd_items_ci95": own.fitted.sd_items_ci95,
        "targets": [text for _, text in targets],
    }
    text = figure_text("power", context)
    drawn = finish(_chart(frame, targets), text.alt)
    return Figure("power", text.title, text.caption, text.alt, frame, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"power": power}


def _label(target: Target, own: PowerAnalysis) -> str:
    width = _("%(width)s points") % {"width": compact(100 * target.width)}
    return f"{width}: {_within_reach(target, own)}"


def _within_reach(target: Target, own: PowerAnalysis) -> str:
    n, items = two_digits(target.n_participants), two_digits(target.n_items_needed)
    if n is None and items is None:
        return _("out of reach")
    if n is None:
        text = ngettext("needs %(n)s test case", "needs %(n)s test cases", int(items or 0))
        return text % {"n": number(items, 0)}
    if own.is_near_floor(target.width):
        return _("hardly within reach")
    return ngettext("%(n)s person", "%(n)s people", int(n)) % {"n": number(n, 0)}


def _chart(frame: pd.DataFrame, targets: Sequence[tuple[Target, str]]) -> Drawn:
    drawn = frame[["ci_width", "ci_width_low", "ci_width_high"]].stack()
    ends = [*drawn, *(target.width for target, _ in targets)]
    people = [*frame["n_participants"]]
    x = alt.X(
        "n_participants:Q",
        scale=alt.Scale(type="log", domain=[min(people) * 0.9, max(people) * 1.1], nice=False),
        axis=alt.Axis(
            title="Participants",
            format=",d",
            values=_ticks(min(people), max(people)),
            labelOverlap="greedy",
        ),
    )
    scale = alt.Scale(type="log", domain=[min(ends) * 0.85, max(ends) * 1.15], nice=False)
    values = [
        t
        for t in (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1)
        if min(ends) * 0.85 <= t <= max(ends) * 1.15
    ]
    y = alt.Y(
        "ci_width:Q",
        scale=scale,
        axis=alt.Axis(
            title="Width of the interval, percentage points",
            labelExpr="format(100 * datum.value, '~g')",
            grid=True,
            values=values,
        ),
    )
    data = chart(frame)
    layers: list[Any] = []
    if targets:
        lines = chart(
            pd.DataFrame([{"ci_width": target.width, "text": text} for target, text in targets])
        )
        layers.append(lines.mark_rule(color=LINE, strokeDash=[4, 3]).encode(y=y))
        words = lines.mark_text(align="left", baseline="middle", dx=8, color=SOFT)
        layers.append(words.encode(y=y, x=alt.value("width"), text="text:N"))
    if frame["ci_width_low"].notna().all():
        band = data.mark_area(color=HUMANS, opacity=0.15)
        layers.append(
            band.encode(x=x, y=alt.Y("ci_width_low:Q", scale=scale), y2="ci_width_high:Q")
        )
    layers.append(data.mark_line(color=HUMANS, strokeWidth=1.6).encode(x=x, y=y))
    layers.append(data.mark_point(color=HUMANS, size=40).encode(x=x, y=y))
    return alt.layer(*layers).properties(width=FULL - 240, height=240)


def _ticks(low: float, high: float) -> list[int]:
    steps = [m * 10**k for k in range(6) for m in (1, 2, 5)]
    return [t for t in steps if low * 0.9 <= t <= high * 1.1]
