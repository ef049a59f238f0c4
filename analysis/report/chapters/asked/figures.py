"""Accuracy of models when asked and by perplexity, the difference over their size, and what their stated confidence is worth."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chance_and_people,
    chart,
    dots,
    level,
    log_scale,
    log_ticks,
    own_colour,
    own_fill,
    own_stroke,
    points_axis,
    quarters,
    share_domain,
    share_x,
    spread,
    y_of,
)
from analysis.charts.rows import Rows, by_family, labels, rows_of
from analysis.charts.style import FULL, LINE, SOFT, family_colour
from analysis.charts.texts import by_value
from analysis.codec import need, present
from analysis.data.dataset import ModelName
from analysis.data.filters import CHOICE, PERPLEXITY
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.asked.results import BINS, STATED, Asked, AskedModel
from analysis.report.chapters.asked.words import (
    asked_figure,
    panel_error,
    reliability_figure,
    sizes_figure,
)
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval

SHAPES = alt.Scale(domain=[PERPLEXITY, CHOICE], range=["circle", "diamond"])
WORDS = {PERPLEXITY: "by perplexity", CHOICE: "asked"}
BESIDE = 4  # px from a row's middle to its two intervals


def asked(source: SourceResults, tables: Tables) -> Figure:
    """A row per model: accuracy by perplexity and when asked, joined; intervals above and below."""
    models = need(source.of(Asked).asked)
    marks: list[dict[str, Any]] = []
    for model in models:
        about = {"language_model": model.language_model, "colour": family_colour(model.family)}
        shares: list[tuple[str, int, float, Interval]] = []
        if found := present(model.paired):
            shares = [
                (PERPLEXITY, found.n, found.scored, found.scored_ci95),
                (CHOICE, found.n, found.asked, found.asked_ci95),
            ]
        elif share := present(model.judged):
            shares = [(CHOICE, share.n, share.accuracy, share.ci95)]
        marks += [
            {**about, "method": method, "n": n, "accuracy": accuracy, "low": low, "high": high}
            for method, n, accuracy, (low, high) in shares
        ]
    frame = pd.DataFrame(marks)
    if frame.empty:
        raise NotEnough("No model gave answers in both orders.", "Ask a model.")
    shown = set(frame["language_model"])
    rows = rows_of([_language_model(m) for m in models if m.language_model in shown])
    frame["row"] = frame["language_model"].map(rows.label)
    humans = present(source.of(Accuracy).humans)
    drawn = _dumbbells(frame, rows, humans.trials.accuracy if humans else None)
    text = asked_figure(models, frame["language_model"].nunique(), int(frame["n"].max()))
    return make_figure("asked", drawn, text, plain(frame, row="who"))


def _language_model(model: AskedModel) -> ModelName:
    """Not as the one that was asked: a row or a dot is about both."""
    return ModelName(model.language_model, model.language_label, model.family, "")


def _dumbbells(frame: pd.DataFrame, rows: Rows, people: float | None) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"]])
    x, y, data = share_x("accuracy", domain, "Correct answers"), rows.y(), chart(frame)
    ends = frame.groupby("row", sort=False)["accuracy"].agg(["min", "max"]).reset_index()
    bar = chart(ends).mark_rule(color=LINE, strokeWidth=3, opacity=0.6)
    bar = bar.encode(x=alt.X("min:Q"), x2="max:Q", y=y)
    layers: list[Any] = [*chance_and_people(people, domain), bar]
    for method, offset in ((PERPLEXITY, -BESIDE), (CHOICE, BESIDE)):
        own = data.transform_filter(alt.datum.method == method)
        rule = own.mark_rule(strokeWidth=1.1, yOffset=offset)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=own_colour()))
    legend = alt.Legend(
        title=None, labelExpr=by_value(WORDS), symbolFillColor=SOFT, symbolStrokeColor=SOFT
    )
    shape = alt.Shape("method:N", scale=SHAPES, legend=legend)
    points = data.mark_point(size=52).encode(
        x=x, y=y, shape=shape, fill=own_fill(), stroke=own_stroke()
    )
    return alt.layer(*layers, points).properties(
        width=FULL - rows.width - 30, height=rows.height * 1.5
    )


# --- The difference over the models' size.


def asked_sizes(source: SourceResults, tables: Tables) -> Figure:
    """A dot per model of known size, with its interval and its name."""
    both = [
        (model, found)
        for model in need(source.of(Asked).asked)
        if (found := present(model.paired)) and np.isfinite(model.n_parameters)
    ]
    if len({model.n_parameters for model, _found in both}) < 2:
        raise NotEnough(
            "Fewer than two models of different known size were asked and scored.",
            "State the number of parameters of the models.",
        )
    names = labels([_language_model(m) for m, _found in both])
    sized = [
        {
            "language_model": model.language_model,
            "label": names[model.language_model],
            "n_parameters": model.n_parameters,
            "n": found.n,
            "difference": found.difference,
            "low": low,
            "high": high,
            "colour": family_colour(model.family),
        }
        for model, found in both
        for low, high in [found.ci95 or (np.nan, np.nan)]
    ]
    frame = pd.DataFrame(sized)

    sizes = frame["n_parameters"]
    domain = [float(sizes.min()) / 1.6, float(sizes.max()) * 3]
    words = "replace(format(datum.value, '.1~s'), 'G', 'B')"  # as models' names have it
    ticks = alt.Axis(title="Parameters", values=log_ticks(*domain), labelExpr=words, grid=False)
    x = alt.X("n_parameters:Q", scale=log_scale(domain), axis=ticks)
    ends = spread([*frame["low"], *frame["high"], *frame["difference"]], must=[0])
    y = y_of("difference", ends, points_axis("Asked minus scored", grid=True))
    data = chart(frame)
    bars = data.mark_rule(strokeWidth=1.2).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q", color=own_colour()
    )
    text = data.mark_text(align="left", dx=7, color=SOFT).encode(x=x, y=y, text="label:N")
    points = dots(data, size=48).encode(x=x, y=y)
    drawn = alt.layer(level(0.0), bars, points, text).properties(width=FULL - 80, height=240)
    return make_figure("asked_sizes", drawn, sizes_figure(both), plain(frame))


# --- Reliability of the confidence that models state.


def asked_reliability(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: accuracy in bins of stated confidence, with intervals; the diagonal is perfect calibration."""
    found = by_family(need(source.of(Asked).asked))
    models = [(model, own) for model in found if (own := present(model.stated))]
    if not models:
        raise NotEnough("No model stated a confidence.", "Ask a model for a written answer.")
    names = labels([model for model, _own in models])
    frame = c.tidy(BINS, [(m, STATED, one) for m, own in models for one in own.bins])
    shown = frame.rename(columns={"ci_low": "bottom", "ci_high": "top"})
    domain = share_domain([*shown["bottom"], *shown["top"], *shown["accuracy"]])

    def draw(place: Place) -> Drawn:
        model = models[place.number][0]
        rows = shown[shown["name"] == model.name].assign(colour=family_colour(model.family))
        axis = place.x_axis("Stated confidence", format=".0%", values=[0.5, 0.75, 1.0])
        x = alt.X("mean_confidence:Q", scale=alt.Scale(domain=[0.48, 1.0], nice=False), axis=axis)
        y_axis = place.y_axis("Correct answers", 40, format=".0%", values=quarters(domain))
        y = y_of("accuracy", domain, y_axis)
        line = alt.Chart(alt.InlineData(values=[{"at": 0.5}, {"at": 1.0}]))
        diagonal = line.mark_line(color=LINE, strokeDash=[4, 3], strokeWidth=1, clip=True)
        data = chart(rows)
        bars = data.mark_rule(opacity=0.5).encode(
            x=x, y=alt.Y("bottom:Q"), y2="top:Q", color=own_colour()
        )
        return alt.layer(
            diagonal.encode(x=alt.X("at:Q"), y=alt.Y("at:Q")),
            bars,
            dots(data, size=34).encode(x=x, y=y),
        )

    titles = [(names[m.name], panel_error(own)) for m, own in models]
    drawn = grid(titles, draw, columns=columns_for(len(models), 4), left=56, height=130)
    return make_figure("asked_reliability", drawn, reliability_figure(models), frame)
