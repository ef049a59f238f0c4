"""Box plots of points and of lengths."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, log_ticks, share_axis, text_width
from analysis.charts.rows import Rows
from analysis.charts.style import FULL, INK, SOFT
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.graded.answers.page import STATE_LABELS
from analysis.report.chapters.graded.answers.results import (
    Box,
    CategoryStates,
    Described,
    GradedAnswers,
    ModelAnswers,
    not_whole,
)
from analysis.report.chapters.graded.drawn import (
    TALL,
    boxes,
    category_labels,
    colours,
    rows_of,
    who,
)
from analysis.stats import NotEnough
from scoring.domain.generating import Finish

STATE_COLOURS = {
    Finish.REFUSED.value: "#b9c6d2",
    Finish.LENGTH.value: "#6ba3c9",
    Finish.FILTERED.value: "#c44f00",
    Finish.TOO_LONG.value: "#8a6a00",
    Finish.EMPTY.value: "#f0c987",
    Finish.FAILED.value: "#1f2933",
}
TEXT_ROWS = ("Questions", "Expert answers")
NAMES = ["name", "n", "mean", "low", "q25", "median", "q75", "high"]


def points(source: SourceResults, tables: Tables) -> Figure:
    """A box of the points for each, the highest mean first."""
    own = need(source.of(GradedAnswers).graded_answers)
    models = [model for model in own.models if model.points.n]
    if not models:
        raise NotEnough("No answer has points.", "Let a judge or people grade the answers.")
    models = sorted(models, key=lambda model: -model.points.mean)
    rows = rows_of(models)
    frame = _frame(models, rows, [model.points for model in models])
    x = alt.X(
        "q25:Q",
        scale=alt.Scale(domain=[-0.03 * own.top, 1.03 * own.top], nice=False),
        axis=alt.Axis(title="Points of answers that did not abstain", tickCount=6),
    )
    text = figure_text("graded/points", {"own": own, "models": models, **who(models)})
    drawn = finish(_plot(frame, x, rows), text.alt)
    return Figure("graded_points", text.title, text.caption, text.alt, frame[NAMES], drawn)


def lengths(source: SourceResults, tables: Tables) -> Figure:
    """Boxes of the numbers of words: questions, expert answers, and answers of each."""
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
    frame = pd.concat([texts, of_models], ignore_index=True) if len(of_models) else texts
    known = frame[["low", "high", "mean"]].to_numpy(dtype=float)
    low, high = 0.85 * float(np.nanmin(known)), 1.15 * float(np.nanmax(known))
    x = alt.X(
        "q25:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(title="Words (logarithmic scale)", values=log_ticks(low, high), format=",~r"),
    )
    text = figure_text("graded/lengths", {"own": own, "models": models, **who(models)})
    drawn = finish(_plot(frame, x, rows), text.alt)
    return Figure("graded_lengths", text.title, text.caption, text.alt, frame[NAMES], drawn)


def states(source: SourceResults, tables: Tables) -> Figure:
    """A bar for each category, divided into how the models' answers ended that came to no whole text."""
    own = need(source.of(GradedAnswers).graded_answers)
    if not own.categories:
        raise NotEnough(
            "Every answer of a model came to a whole text, or no question has a category.",
            "There is nothing to draw.",
        )
    present = not_whole(own.categories)
    frame = _parts(own.categories, present)
    text = figure_text("graded/states", {"own": own, **who(_models(own))})
    dimensions = list(dict.fromkeys(one.dimension for one in own.categories))
    most = max(one.n_not_whole / one.n for one in own.categories)
    drawn = alt.vconcat(
        *(_divided(frame, name, present, most, name == dimensions[-1]) for name in dimensions),
        spacing=14,
    )
    table = frame[["dimension", "category", "state", "n", "n_answers", "share"]]
    return Figure(
        "graded_states", text.title, text.caption, text.alt, table, finish(drawn, text.alt)
    )


FIGURES: Mapping[str, FigureBuilder] = {
    "graded_points": points,
    "graded_lengths": lengths,
    "graded_states": states,
}


def _models(own: Described) -> list[ModelAnswers]:
    return [model for model in own.models if not model.is_people]


def _parts(categories: Sequence[CategoryStates], present: Sequence[str]) -> pd.DataFrame:
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
                    "ended": str(STATE_LABELS[state]),
                    "n": one.states.get(state, 0),
                    "n_answers": one.n,
                    "share": share,
                    "low": low,
                    "high": low + share,
                }
            )
            low += share
    return pd.DataFrame(parts)


def _divided(
    frame: pd.DataFrame, dimension: str, present: Sequence[str], most: float, is_last: bool
) -> Drawn:
    own = frame[frame["dimension"] == dimension]
    left = max(text_width(list(frame["row"])), 60) + 8
    rows = list(own["row"].unique())
    y = alt.Y(
        "row:N",
        scale=alt.Scale(domain=rows, paddingInner=0.25),
        sort=None,
        axis=alt.Axis(title=None, minExtent=left, maxExtent=left, labelPadding=6),
    )
    axis = share_axis("Share of the models' answers" if is_last else "", grid=True)
    x = alt.X("low:Q", scale=alt.Scale(domain=[0, most * 1.05], nice=False), axis=axis)
    names = [str(STATE_LABELS[state]) for state in present]
    colours = alt.Color(
        "ended:N",
        scale=alt.Scale(domain=names, range=[STATE_COLOURS[state] for state in present]),
        legend=alt.Legend(title=None, symbolType="square", columns=len(names)),
    )
    bars = chart(own).mark_bar().encode(x=x, x2="high:Q", y=y, color=colours)
    title = alt.TitleParams(dimension, color=INK, fontSize=11, offset=6, frame="group")
    return bars.properties(width=FULL - left - 60, height=TALL * len(rows), title=title)


def _frame(models: Sequence[ModelAnswers], rows: Rows, found: Sequence[Box]) -> pd.DataFrame:
    colour = colours(models)
    lines: list[dict[str, Any]] = [
        {"name": m.name, "row": rows.label[m.name], "colour": colour[m.name], **asdict(one)}
        for m, one in zip(models, found, strict=True)
    ]
    return pd.DataFrame(lines)


def _plot(frame: pd.DataFrame, x: alt.X, rows: Rows) -> Drawn:
    return boxes(frame, x, rows.y()).properties(width=FULL - rows.width - 40, height=rows.height)
