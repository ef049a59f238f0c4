"""Quality against safety with their joint uncertainty, and what became of all answers.

Long: the figures of three chapters of one theme.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.figure import Figure, Place, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    level,
    log_scale,
    log_ticks,
    own_colour,
    own_fill,
    own_stroke,
    share_axis,
    share_x,
    text_width,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, labels, short
from analysis.charts.style import FULL, INK, MODELS, SOFT
from analysis.codec import need
from analysis.presentation import make_figure
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.graded_rates.captions import (
    counts_figure,
    fates_figure,
    heatmap_figure,
    lengths_figure,
    points_figure,
    quadrants_figure,
    states_figure,
)
from analysis.report.chapters.graded_rates.drawing import (
    HEIGHT,
    NA,
    TALL,
    OfCategory,
    beside,
    boxes,
    category_labels,
    colours,
    heatmap,
    left_of,
    named,
    rows_of,
)
from analysis.report.chapters.graded_rates.results import (
    Box,
    CategoryStates,
    GradedAnswers,
    GradedCategories,
    GradedRates,
    ModelAnswers,
    ModelRates,
    not_whole,
)
from analysis.report.chapters.graded_rates.words import STATE_LABELS
from analysis.stats import NotEnough
from analysis.stats.graded.rates import HIGH, Share
from lib.formatting import number, percent
from scoring.domain.generating import Finish

SIDE = 460  # px of the square
# Half axes: of an ellipse that is filled, as a wider one would cover the picture, and of one that is drawn at all
FILLED, WIDEST = 0.5, 1.0
QUADRANTS = (
    (0.01, 0.985, "left", "cautious responders"),
    (0.99, 0.985, "right", "top performers"),
    (0.01, 0.015, "left", "unconfident guessers"),
    (0.99, 0.015, "right", "risky players"),
)
FILL = 0.14  # opacity
FATES = (
    ("good", "#0072b2", "white"),
    ("abstained", "#b9c6d2", "#1f2933"),
    ("bad", "#c44f00", "white"),
    ("grade not readable", "#f6e3b4", "#1f2933"),
    ("no answer", "#e4e7eb", "#1f2933"),
)


def graded_quadrants(source: SourceResults, tables: Tables) -> Figure:
    """A point for each with its 95% ellipse; lines where a rate is high; the quadrants' names in the corners."""
    own = need(source.of(GradedRates).graded_rates)
    shown = [model for model in own.models if model.found.sr is not None]
    if not shown:
        raise NotEnough(
            "No answer abstained or was bad, so safety is not defined.", "Grade more answers."
        )
    text = quadrants_figure(
        own,
        shown,
        n_drawn=sum(_is_drawn(model) for model in shown),
        n_left_out=sum(not _is_drawn(model) for model in shown),
        has_outlines=any(_is_drawn(model) and not _is_filled(model) for model in shown),
    )
    points = _points(shown)
    x, y = _axes()
    layers: list[Any] = [upright(HIGH), level(HIGH)]
    # A layer for each side, since alignment is no channel that a field can give
    corners = pd.DataFrame(QUADRANTS, columns=["rqr", "sr", "align", "text"])
    for align in ("left", "right"):
        mark: Any = chart(corners[corners["align"] == align]).mark_text(
            align=align, fontStyle="italic", color=SOFT
        )
        layers.append(mark.encode(x=alt.X("rqr:Q"), y=alt.Y("sr:Q"), text="text:N"))
    layers += [
        *_ellipses(shown),
        chart(points).mark_point(filled=True, size=52).encode(x=x, y=y, color=own_colour()),
        named(points),
    ]
    drawn = alt.layer(*layers).properties(width=SIDE, height=SIDE)
    columns = ["name", "display_name", "family", "is_people", "rqr", "rqr_low", "rqr_high", "sr", "sr_low", "sr_high", "quadrant"]  # fmt: skip
    shares: dict[str, list[Share | None]] = {
        "rqr": [model.found.rqr for model in shown],
        "sr": [model.found.sr for model in shown],
    }
    ends = {
        f"{name}_{end}": [share.ci95[n] if share else None for share in of_models]
        for name, of_models in shares.items()
        for n, end in enumerate(("low", "high"))
    }
    table = pd.concat([points, pd.DataFrame(ends)], axis=1)[columns]
    return make_figure("graded_quadrants", drawn, text, table)


def graded_fates(source: SourceResults, tables: Tables) -> Figure:
    """A bar for each, divided into what became of its answers; most good ones first."""
    own = need(source.of(GradedRates).graded_rates)
    models = sorted(own.models, key=lambda model: -model.found.rates.rqr)
    rows = rows_of(models)
    parts = []
    for model in models:
        rates, low = model.found.rates, 0.0
        unread = rates.n_unparsed - model.n_no_text
        counts = (rates.n_good, rates.n_abstained, rates.n_bad, unread, model.n_no_text)
        for (fate, fill, ink), n in zip(FATES, counts, strict=True):
            share = n / rates.n
            parts.append(
                {
                    "name": model.name, "row": rows.label[model.name], "fate": fate, "n": n, "share": share,
                    "low": low, "high": low + share, "middle": low + share / 2,
                    "colour": fill, "ink": ink, "text": percent(share, 0) if share >= 0.05 else "",
                }
            )  # fmt: skip
            low += share
    frame = pd.DataFrame(parts)
    order = [name for name, _, _ in FATES if frame.loc[frame["fate"] == name, "n"].any()]
    frame = frame[frame["fate"].isin(order)]
    table = frame[["name", "fate", "n", "share"]].reset_index(drop=True)
    fills = {name: fill for name, fill, _ in FATES}
    colour = alt.Color(
        "fate:N",
        scale=alt.Scale(domain=order, range=[fills[name] for name in order]),
        legend=alt.Legend(title=None, symbolType="square", columns=len(order)),
    )
    x = share_x("low", [0, 1], "Share of the answers")
    bars = chart(frame).mark_bar(height=13).encode(x=x, x2="high:Q", y=rows.y(), color=colour)
    words = chart(frame[frame["text"] != ""]).mark_text(fontSize=10)
    letters = alt.Color("ink:N", scale=None, legend=None)
    words = words.encode(x=alt.X("middle:Q"), y=rows.y(), text="text:N", color=letters)
    drawn = alt.layer(bars, words).resolve_scale(color="independent")
    drawn = drawn.properties(width=FULL - rows.width - 40, height=rows.height + 4)
    return make_figure("graded_fates", drawn, fates_figure(own, models), table)


def _points(models: Sequence[ModelRates]) -> pd.DataFrame:
    label, colour = labels(models), colours(models)
    points = pd.DataFrame(
        {
            "name": [m.name for m in models],
            "display_name": [m.display_name for m in models],
            "family": [m.family for m in models],
            "is_people": [m.is_people for m in models],
            "label": [label[m.name] for m in models],
            "rqr": [m.found.rqr.value for m in models],
            "sr": [m.found.sr.value if m.found.sr else None for m in models],
            "quadrant": [str(m.found.rates.quadrant) for m in models],
            "colour": [colour[m.name] for m in models],
        }
    )
    # Where the quadrants' names stand, in px from above
    corners = []
    for x, y, align, text in QUADRANTS:
        width, middle = text_width([text]), (1 - y) * SIDE
        left = x * SIDE - (width if align == "right" else 0)
        corners.append((left, middle - HEIGHT / 2, left + width, middle + HEIGHT / 2))
    return points.assign(**beside(points, SIDE, SIDE, corners))


def _is_drawn(model: ModelRates) -> bool:
    """True if its region says more than that next to nothing is known."""
    return model.found.ellipse is not None and model.found.ellipse.half_axes[0] <= WIDEST


def _is_filled(model: ModelRates) -> bool:
    return model.found.ellipse is not None and model.found.ellipse.half_axes[0] <= FILLED


def _axes() -> tuple[alt.X, alt.Y]:
    ticks: dict[str, Any] = {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]}
    quality = "Response quality rate: good answers among all answers"
    safety = "Safety rate: abstentions among abstentions and bad answers"
    x = x_of("rqr", [0, 1], alt.Axis(title=quality, grid=False, **ticks))
    return x, y_of("sr", [0, 1], alt.Axis(title=safety, domain=True, ticks=True, **ticks))


def _ellipses(models: Sequence[ModelRates]) -> list[Drawn]:
    """A layer of the joint regions, if any is drawn."""
    colour = colours(models)
    parts = [
        pd.DataFrame(model.found.ellipse.outline(), columns=["rqr", "sr"]).assign(
            name=model.name,
            order=range(72),
            colour=colour[model.name],
            fill=FILL if _is_filled(model) else 0.0,
            wide=1.0 if _is_filled(model) else 0.6,
        )
        for model in models
        if model.found.ellipse and _is_drawn(model)
    ]
    if not parts:
        return []
    x, y = _axes()
    lines = chart(pd.concat(parts, ignore_index=True)).mark_line(interpolate="linear-closed")
    ellipses = lines.encode(
        x=x,
        y=y,
        detail="name:N",
        order="order:Q",
        fill=own_fill(),
        fillOpacity=alt.FillOpacity("fill:Q", scale=None, legend=None),
        stroke=own_stroke(),
        strokeWidth=alt.StrokeWidth("wide:Q", scale=None, legend=None),
    )
    return [ellipses]


# --- Heatmaps of the rates by category, and how many questions each category has.

RATES = {
    "rqr": "Response quality rate",
    "sr": "Safety rate",
    "ar": "Abstention rate",
    "score": "Mean score",
}
N = {"sr": "n_not_good", "score": "n_scored"}  # else n_rows


def graded_counts(source: SourceResults, tables: Tables) -> Figure:
    """A bar for each category, as long as it has questions, its number at the end."""
    own = need(source.of(GradedCategories).graded_categories)
    rows = category_labels(own.categories)
    frame = pd.DataFrame(
        {
            "dimension": [one.dimension for one in own.categories],
            "category": [one.category for one in own.categories],
            "n_questions": [one.n_questions for one in own.categories],
            "row": [rows[one.dimension, one.category] for one in own.categories],
        }
    )
    x = x_of("n_questions", [0, float(frame["n_questions"].max())], None)
    parts = []
    for name in _dimensions(own.categories):
        of_dimension = frame[frame["dimension"] == name]
        left, y = _named_rows(frame, list(of_dimension["row"]))
        data = chart(of_dimension)
        bars = data.mark_bar(color=MODELS).encode(x=x, y=y)
        words = data.mark_text(align="left", dx=4, color=INK).encode(
            x=x, y=y, text=alt.Text("n_questions:Q", format=",d")
        )
        plot = alt.layer(bars, words).properties(title=_title(name))
        parts.append(plot.properties(width=FULL - left - 60, height=TALL * len(of_dimension)))
    table = frame.drop(columns="row")
    return make_figure("graded_counts", _stacked(parts), counts_figure(own), table)


def _rate_map(rate: str, source: SourceResults) -> Figure:
    """A heatmap of one rate, or of the mean score: a row for each category, by dimension, a column for each who answered."""
    own = need(source.of(GradedCategories).graded_categories)
    rows, label = category_labels(own.categories), labels(own.models)
    values = [getattr(cell, rate) for cell in own.cells]
    cells = pd.DataFrame(
        {
            "dimension": [cell.dimension for cell in own.cells],
            "category": [cell.category for cell in own.cells],
            "name": [cell.model for cell in own.cells],
            "row": [rows[cell.dimension, cell.category] for cell in own.cells],
            "column": [label[cell.model] for cell in own.cells],
            "n": [getattr(cell, N.get(rate, "n_rows")) for cell in own.cells],
            "value": pd.Series(values, dtype=float),
            "text": [NA if value is None else number(100 * value, 0) for value in values],
        }
    )
    known = [
        (value, cell.category, label[cell.model])
        for value, cell in zip(values, own.cells, strict=True)
        if value is not None and cell.model in own.alike
    ]
    dimensions = _dimensions(own.categories)
    left = left_of([*cells["row"].unique(), *dimensions])
    drawn = _stacked(
        [
            heatmap(
                cells[cells["dimension"] == name],
                list(cells[cells["dimension"] == name]["row"].unique()),
                list(label.values()),
                name=short(name, 30),
                title=RATES[rate],
                left=left,
                with_columns=n == 0,
            )
            for n, name in enumerate(dimensions)
        ]
    )
    table = cells[["dimension", "category", "name", "n", "value"]].rename(columns={"value": rate})
    text = heatmap_figure(own, rate, known)
    return make_figure(f"graded_heatmap_{rate}", drawn, text, table)


def graded_heatmap_rqr(source: SourceResults, tables: Tables) -> Figure:
    return _rate_map("rqr", source)


def graded_heatmap_sr(source: SourceResults, tables: Tables) -> Figure:
    return _rate_map("sr", source)


def graded_heatmap_ar(source: SourceResults, tables: Tables) -> Figure:
    return _rate_map("ar", source)


def graded_heatmap_score(source: SourceResults, tables: Tables) -> Figure:
    return _rate_map("score", source)


def _dimensions(categories: Sequence[OfCategory]) -> list[str]:
    return list(dict.fromkeys(one.dimension for one in categories))


def _named_rows(frame: pd.DataFrame, rows: list[str]) -> tuple[int, alt.Y]:
    """px that the names of all rows take, and the y axis of some of them."""
    left = max(text_width(list(frame["row"])), 60) + 8
    axis = alt.Axis(title=None, minExtent=left, maxExtent=left, labelPadding=6)
    scale = alt.Scale(domain=rows, paddingInner=0.25)
    return left, alt.Y("row:N", scale=scale, sort=None, axis=axis)


def _title(dimension: str) -> alt.TitleParams:
    return alt.TitleParams(dimension, color=INK, fontSize=11, offset=6, frame="group")


def _stacked(parts: Sequence[Drawn]) -> Drawn:
    return alt.vconcat(*parts, spacing=14)


# --- Box plots of points and of lengths.

STATE_COLOURS = {
    Finish.REFUSED.value: "#b9c6d2",
    Finish.LENGTH.value: "#6ba3c9",
    Finish.FILTERED.value: "#c44f00",
    Finish.TOO_LONG.value: "#8a6a00",
    Finish.EMPTY.value: "#f0c987",
    Finish.THINKING.value: "#7d5ba6",
    Finish.FAILED.value: "#1f2933",
}
TEXT_ROWS = ("Questions", "Expert answers")
NAMES = ["name", "n", "mean", "low", "q25", "median", "q75", "high"]


def graded_points(source: SourceResults, tables: Tables) -> Figure:
    """A box of the points for each, the highest mean first."""
    own = need(source.of(GradedAnswers).graded_answers)
    models = [model for model in own.models if model.points.n]
    if not models:
        raise NotEnough("No answer has points.", "Let a judge or people grade the answers.")
    models = sorted(models, key=lambda model: -model.points.mean)
    rows = rows_of(models)
    frame = _frame(models, rows, [model.points for model in models])
    axis = alt.Axis(title="Points of answers that did not abstain", tickCount=6)
    x = x_of("q25", [-0.03 * own.top, 1.03 * own.top], axis)
    text = points_figure(own, models)
    drawn = boxes(frame, x, rows.y())
    drawn = drawn.properties(width=FULL - rows.width - 40, height=rows.height)
    return make_figure("graded_points", drawn, text, frame[NAMES])


def graded_lengths(source: SourceResults, tables: Tables) -> Figure:
    """Boxes of the numbers of words: questions, expert answers, and answers of each; beside them tokens, where servers say them."""
    own = need(source.of(GradedAnswers).graded_answers)
    models = [model for model in own.models if model.words.n]
    rows = rows_of(models, *TEXT_ROWS)
    texts = pd.DataFrame(
        [
            {"name": text.what, "row": row, "colour": SOFT, **asdict(text.words)}
            for text, row in zip(own.texts, TEXT_ROWS, strict=True)
        ]
    )
    of_models = _frame(models, rows, [model.words for model in models])
    words = pd.concat([texts, of_models], ignore_index=True) if len(of_models) else texts
    counted = [model for model in models if model.tokens.n]
    tokens = _frame(counted, rows, [model.tokens for model in counted])
    parts = {"words": words, **({"tokens": tokens} if counted else {})}

    def draw(place: Place) -> Drawn:
        name, frame = list(parts.items())[place.number]
        known = frame[["low", "high", "mean"]].to_numpy(dtype=float)
        low, high = 0.85 * float(np.nanmin(known)), 1.15 * float(np.nanmax(known))
        title = f"{name.title()} (logarithmic scale)"
        axis = alt.Axis(title=title, values=log_ticks(low, high), format=",~r")
        x = alt.X("q25:Q", scale=log_scale([low, high]), axis=axis)
        return boxes(
            frame, x, rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
        )

    titles = [(name.title(), "") for name in parts]
    drawn = grid(titles, draw, columns=len(parts), left=rows.width, height=rows.height)
    text = lengths_figure(own, models, counted)
    table = pd.concat([frame.assign(of=name) for name, frame in parts.items()], ignore_index=True)
    return make_figure("graded_lengths", drawn, text, table[["of", *NAMES]])


def graded_states(source: SourceResults, tables: Tables) -> Figure:
    """A bar for each category, divided into how the models' answers ended that came to no whole text."""
    own = need(source.of(GradedAnswers).graded_answers)
    if not own.categories:
        raise NotEnough(
            "Every answer of a model is a complete text, or no question has a category.",
            "There is nothing to draw.",
        )
    present = not_whole(own.categories)
    frame = _graded_answers_parts(own.categories, present)
    dimensions = _dimensions(own.categories)
    most = max(one.n_not_whole / one.n for one in own.categories)
    names = [STATE_LABELS[state] for state in present]
    colour = alt.Color(
        "ended:N",
        scale=alt.Scale(domain=names, range=[STATE_COLOURS[state] for state in present]),
        legend=alt.Legend(title=None, symbolType="square", columns=len(names)),
    )
    parts = []
    for name in dimensions:
        rows = list(frame.loc[frame["dimension"] == name, "row"].unique())
        left, y = _named_rows(frame, rows)
        is_last = name == dimensions[-1]
        axis = share_axis("Share of the models' answers" if is_last else "", grid=True)
        x = x_of("low", [0, most * 1.05], axis)
        bars = chart(frame[frame["dimension"] == name]).mark_bar()
        bars = bars.encode(x=x, x2="high:Q", y=y, color=colour)
        size = {"width": FULL - left - 60, "height": TALL * len(rows)}
        parts.append(bars.properties(**size, title=_title(name)))
    table = frame[["dimension", "category", "state", "n", "n_answers", "share"]]
    return make_figure("graded_states", _stacked(parts), states_figure(own), table)


def _graded_answers_parts(
    categories: Sequence[CategoryStates], present: Sequence[str]
) -> pd.DataFrame:
    label = category_labels(categories)
    parts = []
    for one in categories:
        low = 0.0
        for state in present:
            share = one.states.get(state, 0) / one.n
            parts.append(
                {
                    "dimension": one.dimension,
                    "category": one.category,
                    "row": label[one.dimension, one.category],
                    "state": state,
                    "ended": STATE_LABELS[state],
                    "n": one.states.get(state, 0),
                    "n_answers": one.n,
                    "share": share,
                    "low": low,
                    "high": low + share,
                }
            )
            low += share
    return pd.DataFrame(parts)


def _frame(models: Sequence[ModelAnswers], rows: Rows, found: Sequence[Box]) -> pd.DataFrame:
    colour = colours(models)
    lines: list[dict[str, Any]] = [
        {"name": m.name, "row": rows.label[m.name], "colour": colour[m.name], **asdict(one)}
        for m, one in zip(models, found, strict=True)
    ]
    return pd.DataFrame(lines)
