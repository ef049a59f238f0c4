"""Accuracy over confidence (the paper's figure 4), and the logistic coefficients of confidence (its Table S3)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    dots,
    finish,
    own_colour,
    quarters,
    share_y,
    spread,
    upright,
)
from analysis.charts.rows import PEOPLE, Rows, by_family, labels, rows_of
from analysis.charts.style import FULL, HALF, HUMANS, SOFT, family_colour
from analysis.codec import need, present
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.calibration.panel import (
    bins_frame,
    bins_table,
    panel,
    with_line,
    x_of_rank,
)
from analysis.report.chapters.calibration.results import (
    HUMAN_ROW,
    Calibration,
    CalibrationResults,
    ModelCalibration,
)
from analysis.stats import NotEnough
from analysis.stats.logistic import Logistic
from lib import formatting as f

FITTED, PAPER = "all data, unpenalised", "mean of five penalised fits (Table S3)"
KINDS = alt.Scale(domain=[FITTED, PAPER], range=["circle", "triangle-up"])


def humans(source: SourceResults, tables: Tables) -> Figure:
    """Twenty bins of equally many judgments, from least to most confident, with 95% intervals and a regression line."""
    people = present(need(source.of(Calibration).calibration).humans)
    binned = present(people.binned) if people else None
    if binned is None:
        raise NotEnough("No judgment has a confidence.", "Ask participants for their confidence.")
    frame = bins_frame(binned)
    domain = with_line([frame])
    x = x_of_rank(alt.Axis(title="Confidence, rank among all judgments", format=".0%", tickCount=5))
    drawn = panel(frame, HUMANS, x, share_y("accuracy", domain, "Correct answers"), 40).properties(
        width=HALF - 62, height=220
    )
    text = figure_text("calibration_humans", {"binned": binned, "most": binned.bins[-1]})
    drawn = finish(drawn, text.alt)
    return Figure(
        "calibration_humans", text.title, text.caption, text.alt, bins_table(frame), drawn
    )


def models(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: bins from least to most confident with 95% intervals and a regression line."""
    found = by_family(need(source.of(Calibration).calibration).models)
    binned = [(m, fits) for m in found if (fits := present(m.binned))]
    if not binned:
        raise NotEnough("No model has enough scores for bins.", "Score the test cases.")
    names = labels([m for m, _ in binned])
    frames = [bins_frame(fits) for _, fits in binned]
    domain = with_line(frames)
    chat = source.of(Accuracy).chat_models

    def draw(place: Place) -> Drawn:
        axis = place.y_axis("Correct answers", 40, format=".0%", values=quarters(domain))
        scale = alt.Scale(domain=domain, nice=False, zero=False)
        y = alt.Y("accuracy:Q", scale=scale, axis=axis)
        x = x_of_rank(place.x_axis("Confidence, rank", format=".0%", tickCount=2))
        model, frame = binned[place.number][0], frames[place.number]
        shown = frame.assign(is_chat=model.name in chat)
        return panel(shown, family_colour(model.family), x, y, 18)

    titles = [(names[m.name], f"r = {f.number(fits.line.r)}") for m, fits in binned]
    drawn = grid(titles, draw, columns=columns_for(len(binned)), left=56, height=92)
    known = [fits.line.r for _, fits in binned if f.is_known(fits.line.r)]
    context = {
        "n_models": len(binned),
        "has_chat": any(m.name in chat for m, _ in binned),
        "most_items": max(fits.n for _, fits in binned),
        "n_rising": sum(r > 0 for r in known),
        "lowest": min(known, default=None),
        "highest": max(known, default=None),
    }
    text = figure_text("calibration_models", context)
    named = [frame.assign(name=m.name) for frame, (m, _) in zip(frames, binned, strict=True)]
    table = bins_table(pd.concat(named, ignore_index=True))
    drawn = finish(drawn, text.alt)
    return Figure("calibration_models", text.title, text.caption, text.alt, table, drawn)


def table_s3(source: SourceResults, tables: Tables) -> Figure:
    """Two marks per row; people, whose confidence has another unit, in a panel of their own."""
    found = need(source.of(Calibration).calibration)
    people = present(found.humans)
    fitted = [(m, fit) for m in found.models if (fit := present(m.logistic))]
    own = present(people.logistic) if people and present(people.binned) else None
    chat = source.of(Accuracy).chat_models
    blocks, table = _blocks(found, fitted, own, chat)
    drawn = alt.vconcat(*blocks, spacing=16).resolve_scale(shape="shared")
    slopes = table[table["fit"] == FITTED]["slope"]
    context = {
        "n_models": len(fitted),
        "most": max([fit.n for _, fit in fitted] + [own.n if own else 0]),
        "n_fits": len(slopes),
        "has_chat": any(m.name in chat for m, _ in fitted),
        "n_positive": int((slopes > 0).sum()),
    }
    text = figure_text("table_s3", context)
    drawn = finish(drawn, text.alt)
    table = table.drop(columns=["colour", "is_chat"], errors="ignore")
    return Figure("table_s3", text.title, text.caption, text.alt, table, drawn)


FIGURES: Mapping[str, FigureBuilder] = {
    "calibration_humans": humans,
    "calibration_models": models,
    "table_s3": table_s3,
}


def _blocks(
    found: CalibrationResults,
    models: Sequence[tuple[ModelCalibration, Logistic]],
    people: Logistic | None,
    chat: Collection[str],
) -> tuple[list[Drawn], pd.DataFrame]:
    """The panels, models above people, and what they show; raises NotEnough where nothing is fitted."""
    paper = {row.name: fit.coef_mean for row in found.table_s3 if (fit := present(row.fit))}
    blocks, frames = [], []
    rows = rows_of([m for m, _ in models])
    if models:
        shown = [
            mark
            for m, fit in models
            for mark in _marks(
                m.name, rows.label[m.name], family_colour(m.family), fit, paper.get(m.name)
            )
        ]
        frames.append(pd.DataFrame(shown).assign(is_chat=lambda f: f["name"].isin(list(chat))))
        blocks.append(_block(frames[0], rows, "Log-odds per unit of |ΔPPL|", True))
    name = HUMAN_ROW.name
    if shown := _marks(name, PEOPLE, HUMANS, people, paper.get(name)):
        frames.append(pd.DataFrame(shown))
        wide = rows.width if models else 0
        title = "Log-odds per unit of confidence (1 to 100)"
        blocks.append(_block(frames[-1], Rows({}, [PEOPLE]), title, not models, wide))
    if not blocks:
        raise NotEnough(
            "No confidence predicts correct answers yet.", "Collect judgments or scores."
        )
    return blocks, pd.concat(frames, ignore_index=True)


def _marks(
    name: str, row: str, colour: str, fit: Logistic | None, paper: float | None
) -> list[dict[str, Any]]:
    """The rows of the chart's data for one model, or for people."""
    shared = {"name": name, "row": row, "colour": colour}
    marks: list[dict[str, Any]] = []
    if fit:
        low, high = fit.slope_ci95
        marks.append({**shared, "fit": FITTED, "slope": fit.slope, "low": low, "high": high})
    if paper is not None:
        marks.append({**shared, "fit": PAPER, "slope": paper, "low": None, "high": None})
    return marks


def _block(frame: pd.DataFrame, rows: Rows, title: str, legend: bool, wide: int = 0) -> Drawn:
    low, high = spread([*frame["low"], *frame["high"], *frame["slope"]], must=[0])
    x = alt.X(
        "slope:Q",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(title=title, tickCount=6),
    )
    extent = max(rows.width, wide)
    y = rows.y(minExtent=extent, maxExtent=extent)
    data = chart(frame)
    key = alt.Legend(title=None, symbolFillColor=SOFT, symbolStrokeColor=SOFT) if legend else None
    shape = alt.Shape("fit:N", scale=KINDS, legend=key)
    bars = data.mark_rule(strokeWidth=1.4).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, color=own_colour()
    )
    points = dots(data, size=40).encode(x=x, y=y, shape=shape)
    return alt.layer(upright(0.0), bars, points).properties(
        width=FULL - extent - 30, height=max(rows.height, 24)
    )
