"""Figures of the mixed model: people's accuracy, and how much people and test cases vary."""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    chance_and_people,
    chart,
    log_scale,
    share_domain,
    share_x,
    spread,
    x_of,
)
from analysis.charts.rows import Rows, dots_with_intervals
from analysis.charts.style import FULL, HUMANS, LINE, SOFT
from analysis.codec import need, present
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.mixed_model.results import Mixed, Power
from analysis.report.chapters.mixed_model.words import (
    mixed_model_figure,
    power_figure,
    target_text,
)
from analysis.stats import NotEnough

TYPICAL, MARGINAL, OBSERVED = (
    "Typical person and test case",
    "Over all people and test cases",
    "As observed",
)
PEOPLE, ITEMS = "Between people", "Between test cases"


def mixed_model(source: SourceResults, tables: Tables) -> Figure:
    """Left, accuracies that the model implies beside the observed one; right, the standard deviations of log-odds."""
    own = need(source.of(Mixed).mixed_model)
    humans = present(source.of(Accuracy).humans)
    shown = [
        ("accuracy", TYPICAL, own.accuracy_typical, own.accuracy_typical_ci95),
        ("accuracy", MARGINAL, own.accuracy_marginal, own.accuracy_marginal_ci95),
        *([("accuracy", OBSERVED, humans.trials.accuracy, humans.trials.ci95)] if humans else []),
        ("sd", PEOPLE, own.sd_participants, own.sd_participants_ci95),
        ("sd", ITEMS, own.sd_items, own.sd_items_ci95),
    ]
    frame = pd.DataFrame(
        [(measure, row, value, *(ci95 or (None, None))) for measure, row, value, ci95 in shown],
        columns=["measure", "row", "value", "low", "high"],
    ).astype({"value": float, "low": float, "high": float})
    frame = frame.dropna(subset=["value"]).assign(colour=HUMANS)
    blocks = []
    for measure in ("accuracy", "sd"):
        some = frame[frame["measure"] == measure]
        rows = Rows({}, some["row"].tolist())
        ends = [*some["low"], *some["high"], *some["value"]]
        if measure == "accuracy":
            x = share_x("value", share_domain(ends), "Correct answers")
            lines = chance_and_people(None, [])
        else:
            high = spread(ends, must=[0])[1]
            axis = alt.Axis(title="Standard deviation, log-odds", tickCount=5)
            x = x_of("value", [-0.03 * high, high], axis)
            lines = []
        block = alt.layer(*lines, dots_with_intervals(chart(some), x, rows.y()))
        width = int((FULL - 40) / 2) - rows.width
        blocks.append(block.properties(width=width, height=24 * 3))
    drawn = alt.hconcat(*blocks, spacing=24)
    return make_figure("mixed_model", drawn, mixed_model_figure(own), plain(frame, row="what"))


# --- How many participants an interval of a given width needs.

WIDTHS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1)  # ticks
COLUMNS = ["n_participants", "ci_width", "ci_width_low", "ci_width_high", "se"]


def power(source: SourceResults, tables: Tables) -> Figure:
    """Width of the 95% interval over the number of participants, on logarithmic axes; targets as lines.

    The band: were the standard deviation of test cases at either end of its interval.
    """
    own = need(source.of(Power).power)
    frame = pd.DataFrame(own.curve).reindex(columns=COLUMNS)
    frame = frame.astype({"ci_width_low": float, "ci_width_high": float})
    frame = frame[frame["ci_width"] > 0]
    if frame.empty:
        raise NotEnough("No width is above 0.", "Collect judgments first.")
    people = [*frame["n_participants"]]
    first, last = min(people) * 0.9, max(people) * 1.1
    axis = alt.Axis(
        title="Participants",
        format=",d",
        values=[t for k in range(6) for m in (1, 2, 5) if first <= (t := m * 10**k) <= last],
        labelOverlap="greedy",
    )
    x = alt.X("n_participants:Q", scale=log_scale([first, last]), axis=axis)
    widths = frame[["ci_width", "ci_width_low", "ci_width_high"]].stack()
    ends = [*widths, *(target.width for target in own.targets)]
    low, high = min(ends) * 0.85, max(ends) * 1.15
    scale = log_scale([low, high])
    axis = alt.Axis(
        title="Width of the interval, percentage points",
        labelExpr="format(100 * datum.value, '~g')",
        grid=True,
        values=[t for t in WIDTHS if low <= t <= high],
    )
    y = alt.Y("ci_width:Q", scale=scale, axis=axis)
    layers: list[Any] = []
    if own.targets:
        targets = [(target.width, target_text(target, own)) for target in own.targets]
        lines = chart(pd.DataFrame(targets, columns=["ci_width", "text"]))
        layers.append(lines.mark_rule(color=LINE, strokeDash=[4, 3]).encode(y=y))
        words = lines.mark_text(align="left", baseline="middle", dx=8, color=SOFT)
        layers.append(words.encode(y=y, x=alt.value("width"), text="text:N"))
    data = chart(frame)
    if frame["ci_width_low"].notna().all():
        until = alt.Y("ci_width_low:Q", scale=scale)
        band = data.mark_area(color=HUMANS, opacity=0.15)
        layers.append(band.encode(x=x, y=until, y2="ci_width_high:Q"))
    layers.append(data.mark_line(color=HUMANS, strokeWidth=1.6).encode(x=x, y=y))
    layers.append(data.mark_point(color=HUMANS, size=40).encode(x=x, y=y))
    drawn = alt.layer(*layers).properties(width=FULL - 240, height=240)
    return make_figure("power", drawn, power_figure(own), frame)
