"""Differences of every two models, and accuracy against coverage."""

from dataclasses import asdict
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    intervals,
    own_colour,
    points_axis,
    share_axis,
    share_domain,
    spread,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, labels, short
from analysis.charts.style import HUMANS, INK, LINE
from analysis.codec import need
from analysis.presentation import make_figure
from analysis.report.chapter import SourceResults, Tables, need_table
from analysis.report.chapters.graded_comparisons.results import (
    BERT,
    GradedComparisons,
)
from analysis.report.chapters.graded_comparisons.words import (
    deferral_figure,
    differences_figure,
    selective_figure,
    texts_figure,
)
from analysis.report.chapters.graded_rates.drawing import (
    Rectangle,
    beside,
    boxes,
    colours,
    named,
    rows_of,
)
from analysis.report.chapters.graded_rates.results import box
from analysis.stats.arrays import Interval
from analysis.stats.graded.text_metrics import COLUMNS

PANELS = {"rqr": "Response quality", "sr": "Safety"}
SIDE, HEIGHT = 400, 300  # px
MOST_PANELS = 12
CURVE, RANDOM = "where the model is least confident", "as many at random"
ABSTAINING, THRESHOLD = "where it abstains", "below a threshold chosen on other questions"


def graded_differences(source: SourceResults, tables: Tables) -> Figure:
    """A row for every two models, a panel for each rate; dark where it differs by more than chance."""
    own = need(source.of(GradedComparisons).graded_comparisons)
    label = {name: short(text, 22) for name, text in labels(own.models).items()}
    names = [f"{label[pair.first]} – {label[pair.second]}" for pair in own.rqr]  # noqa: RUF001
    names = [f"{name} ({n})" if name in names[:n] else name for n, name in enumerate(names)]
    rows = Rows({}, names)
    frame = pd.DataFrame(
        [
            {
                "rate": pair.rate,
                "first": pair.first,
                "second": pair.second,
                "row": name,
                "difference": pair.difference,
                "low": pair.ci95[0] if pair.ci95 else np.nan,
                "high": pair.ci95[1] if pair.ci95 else np.nan,
                "p_holm": pair.p_holm,
                "colour": INK if pair.verdict.is_clear else LINE,
            }
            for pairs in (own.rqr, own.sr)
            for pair, name in zip(pairs, names, strict=True)
        ]
    )
    ends = spread([*frame["low"], *frame["high"], *frame["difference"]], must=[0.0])

    def draw(place: Place) -> Drawn:
        rate = list(PANELS)[place.number]
        x = x_of("difference", ends, points_axis("First less second", grid=True))
        y = rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
        data = chart(frame[frame["rate"] == rate])
        bars = intervals(data, y, strokeWidth=1.4)
        points = data.mark_point(filled=True, size=42).encode(x=x, y=y, color=own_colour())
        return alt.layer(upright(0.0), bars, points)

    drawn = grid([(name, "") for name in PANELS.values()], draw, columns=2, left=rows.width, height=rows.height)  # fmt: skip
    table = frame[["rate", "first", "second", "difference", "low", "high", "p_holm"]]
    return make_figure("graded_differences", drawn, differences_figure(own), table)


def graded_selective(source: SourceResults, tables: Tables) -> Figure:
    """Accuracy against coverage: a line where confidence is known, else a point where abstaining alone has chosen."""
    own = need(source.of(GradedComparisons).graded_selective)
    colour = colours(own.curves)
    label = labels(own.curves)
    ends = pd.DataFrame(
        {
            "rqr": [curve.coverage[-1] for curve in own.curves],
            "sr": [curve.accuracy[-1] for curve in own.curves],
            "label": [label[curve.name] for curve in own.curves],
            "colour": [colour[curve.name] for curve in own.curves],
        }
    )
    # Names stand beside the ends, away from the lines: boxes from each of their points to the next, in px from above
    strokes: list[Rectangle] = []
    for curve in own.curves:
        xs = [SIDE * share for share in curve.coverage]
        ys = [HEIGHT * (1 - share) for share in curve.accuracy]
        for (x, other_x), (y, other_y) in zip(pairwise(xs), pairwise(ys), strict=True):
            left, right, top, bottom = *sorted((x, other_x)), *sorted((y, other_y))
            strokes.append((left, top - 1, right, bottom + 1))
    ends = ends.assign(**beside(ends, SIDE, HEIGHT, strokes))
    frame = pd.concat(
        [pd.DataFrame(c.points).assign(name=c.name, colour=colour[c.name]) for c in own.curves],
        ignore_index=True,
    )
    shown = frame.rename(columns={"coverage": "rqr", "accuracy": "sr"})
    at: dict[str, Any] = {
        "x": x_of("rqr", [0, 1], share_axis("Coverage: answers that are kept", grid=True)),
        "y": y_of("sr", [0, 1], share_axis("Accuracy: good answers of those kept", grid=True)),
        "color": own_colour(),
    }
    lines = chart(shown).mark_line(strokeWidth=1.6).encode(**at, detail="name:N")
    dots = chart(ends).mark_point(filled=True, size=48).encode(**at)
    drawn = alt.layer(lines, dots, named(ends)).properties(width=SIDE, height=HEIGHT)
    table = frame[["name", "coverage", "accuracy"]]
    return make_figure("graded_selective", drawn, selective_figure(own), table)


def graded_texts(source: SourceResults, tables: Tables) -> Figure:
    """A panel per metric: a box for each who answered, over their answers beside the expert's."""
    own = need(source.of(GradedComparisons).graded_texts)
    answers, colour = need_table(tables, "graded_texts"), colours(own.models)
    rows = rows_of(own.models)
    columns = [name for name in (*COLUMNS, BERT) if name in answers]
    frame = pd.DataFrame(
        [
            {
                "metric": metric.name, "name": model.name, "row": rows.label[model.name], "colour": colour[model.name],
                **asdict(box(answers.loc[answers["name"] == model.name, column])),
            }
            for metric, column in zip(own.metrics, columns, strict=True)
            for model in own.models
        ]
    )  # fmt: skip

    least = min(0.0, float(frame["low"].min()))  # BERTScore may be below 0

    def draw(place: Place) -> Drawn:
        axis = place.x_axis("Overlap with the expert answer", values=[0, 0.5, 1], format="~g")
        y = rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
        some = frame[frame["metric"] == own.metrics[place.number].name]
        return boxes(some, x_of("q25", [least, 1], axis), y)

    titles = [(metric.name, "") for metric in own.metrics]
    drawn = grid(titles, draw, columns=len(titles), left=rows.width, height=rows.height)
    table = frame.drop(columns=["row", "colour"])
    return make_figure("graded_texts", drawn, texts_figure(own), table)


def graded_deferral(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: good answers against the share for which a person is asked, beside asking at random."""
    own = need(source.of(GradedComparisons).graded_deferral)
    # Those with a curve first
    shown = sorted(own.models, key=lambda model: not model.points)[:MOST_PANELS]
    rows: list[tuple[str, str, float, float, Interval | None]] = []
    for model in shown:
        # The line of asking at random from its end to its end, the curve, and two points
        for share, good in ((0, model.model), (1, model.people)):
            rows.append((model.name, RANDOM, share, good, None))
        policies = [
            *((CURVE, one) for one in model.points),
            (ABSTAINING, model.abstaining),
            *([(THRESHOLD, model.threshold)] if model.threshold else []),
        ]
        for what, one in policies:
            rows.append((model.name, what, one.share_asked, one.good, one.good_ci95))
    names = ["name", "asked_where", "share_asked", "good", "low", "high"]
    frame = pd.DataFrame(
        [(*row, *(ci95 or (np.nan, np.nan))) for *row, ci95 in rows], columns=names
    ).astype(dict.fromkeys(names[2:], float))
    domain = share_domain([*frame["low"], *frame["high"], *frame["good"]], ())
    label = labels(shown)

    def draw(place: Place) -> Drawn:
        model = shown[place.number]
        title = "Answers for which a person is asked"
        axis = place.x_axis(title, format=".0%", values=[0, 0.5, 1])
        x = x_of("share_asked", [0, 1], axis)
        y = y_of("good", domain, place.y_axis("Good answers", 40, format=".0%", tickCount=5))
        return _panel(frame[frame["name"] == model.name], x, y)

    titles = [(label[model.name], "") for model in shown]
    drawn = grid(titles, draw, columns=columns_for(len(shown), 3), left=52, height=150)
    drawn = drawn.resolve_scale(color="shared", shape="shared", strokeDash="shared")
    return make_figure("graded_deferral", drawn, deferral_figure(own, shown), frame)


def _panel(frame: pd.DataFrame, x: alt.X, y: alt.Y) -> Drawn:
    # One entry below the other: side by side they are wider than the page
    grey: dict[str, Any] = {"title": None, "symbolStrokeColor": INK, "columns": 1}
    dash = alt.StrokeDash(
        "asked_where:N",
        scale=alt.Scale(domain=[CURVE, RANDOM], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(symbolType="stroke", symbolSize=300, symbolStrokeWidth=1.6, **grey),
    )
    shape = alt.Shape(
        "asked_where:N",
        scale=alt.Scale(domain=[ABSTAINING, THRESHOLD], range=["circle", "diamond"]),
        legend=alt.Legend(symbolFillColor=HUMANS, **grey),
    )
    lines = frame[frame["asked_where"].isin([CURVE, RANDOM])]
    points = frame[frame["asked_where"].isin([ABSTAINING, THRESHOLD])]
    band = chart(frame[frame["asked_where"] == CURVE]).mark_area(opacity=0.12, color=HUMANS)
    return alt.layer(
        band.encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        chart(lines).mark_line(strokeWidth=1.6, color=HUMANS).encode(x=x, y=y, strokeDash=dash),
        chart(points)
        .mark_rule(strokeWidth=1.2, color=HUMANS)
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        chart(points)
        .mark_point(filled=True, size=70, color=HUMANS, stroke="white", strokeWidth=0.8)
        .encode(x=x, y=y, shape=shape),
    )
