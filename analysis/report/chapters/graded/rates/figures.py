"""Quality against safety with their joint uncertainty, and what became of all answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, level, own_colour, text_width, upright
from analysis.charts.rows import labels
from analysis.charts.style import FULL, SOFT
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.graded.drawn import colours, named, rows_of, who
from analysis.report.chapters.graded.rates.labels import HEIGHT, Box, beside
from analysis.report.chapters.graded.rates.results import GradedRates, ModelRates
from analysis.stats import NotEnough
from analysis.stats.graded.rates import HIGH, Share

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


def quadrants(source: SourceResults, tables: Tables) -> Figure:
    """A point for each with its 95% ellipse; lines where a rate is high; the quadrants' names in the corners."""
    own = need(source.of(GradedRates).graded_rates)
    shown = [model for model in own.models if model.found.sr is not None]
    if not shown:
        raise NotEnough(
            "No answer abstained or was bad, so that no safety is defined.", "Grade more answers."
        )
    regions = {
        "n_drawn": sum(_is_drawn(model) for model in shown),
        "n_left_out": sum(not _is_drawn(model) for model in shown),
        "has_outlines": any(_is_drawn(model) and not _is_filled(model) for model in shown),
    }
    text = figure_text("graded/quadrants", {"own": own, "models": shown, **regions, **who(shown)})
    points = _points(shown)
    outlines = _outlines(shown)
    layers: list[Any] = [
        upright(HIGH),
        level(HIGH),
        _corners(),
        *([_ellipses(outlines)] if len(outlines) else []),
        _dots(points),
        named(points),
    ]
    drawn = alt.layer(*layers).properties(width=SIDE, height=SIDE)
    columns = ["name", "display_name", "family", "is_people", "rqr", "rqr_low", "rqr_high", "sr", "sr_low", "sr_high", "quadrant"]  # fmt: skip
    table = pd.concat([points, _ends(shown)], axis=1)[columns]
    return Figure(
        "graded_quadrants", text.title, text.caption, text.alt, table, finish(drawn, text.alt)
    )


def fates(source: SourceResults, tables: Tables) -> Figure:
    """A bar for each, divided into what became of its answers; most good ones first."""
    own = need(source.of(GradedRates).graded_rates)
    models = sorted(own.models, key=lambda model: -model.found.rates.rqr)
    rows = rows_of(models)
    frame = pd.DataFrame(
        [part for model in models for part in _parts(model, rows.label[model.name])]
    )
    order = [name for name, _, _ in FATES if frame.loc[frame["fate"] == name, "n"].any()]
    frame = frame[frame["fate"].isin(order)]
    text = figure_text("graded/fates", {"own": own, "models": models, **who(models)})
    drawn = finish(_bars(frame, order, rows), text.alt)
    table = frame[["name", "fate", "n", "share"]].reset_index(drop=True)
    return Figure("graded_fates", text.title, text.caption, text.alt, table, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"graded_quadrants": quadrants, "graded_fates": fates}


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
    return points.assign(**beside(points, SIDE, SIDE, _corner_boxes()))


def _ends(models: Sequence[ModelRates]) -> pd.DataFrame:
    pairs: dict[str, list[Share | None]] = {
        "rqr": [m.found.rqr for m in models],
        "sr": [m.found.sr for m in models],
    }
    return pd.DataFrame(
        {
            f"{name}_{end}": [share.ci95[n] if share else None for share in shares]
            for name, shares in pairs.items()
            for n, end in enumerate(("low", "high"))
        }
    )


def _outlines(models: Sequence[ModelRates]) -> pd.DataFrame:
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
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _is_drawn(model: ModelRates) -> bool:
    """Whether its region says more than that next to nothing is known."""
    return model.found.ellipse is not None and model.found.ellipse.half_axes[0] <= WIDEST


def _is_filled(model: ModelRates) -> bool:
    return model.found.ellipse is not None and model.found.ellipse.half_axes[0] <= FILLED


def _axes() -> tuple[alt.X, alt.Y]:
    scale = alt.Scale(domain=[0, 1], nice=False)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    x = alt.X(
        "rqr:Q",
        scale=scale,
        axis=alt.Axis(title="Response quality rate: good answers of all", format=".0%", values=ticks, grid=False),
    )  # fmt: skip
    y = alt.Y(
        "sr:Q",
        scale=scale,
        axis=alt.Axis(title="Safety rate: abstentions of all answers that are not good", format=".0%", values=ticks, domain=True, ticks=True),
    )  # fmt: skip
    return x, y


def _ellipses(outlines: pd.DataFrame) -> Drawn:
    x, y = _axes()
    return (
        chart(outlines)
        .mark_line(interpolate="linear-closed")
        .encode(
            x=x,
            y=y,
            detail="name:N",
            order="order:Q",
            fill=alt.Fill("colour:N", scale=None, legend=None),
            fillOpacity=alt.FillOpacity("fill:Q", scale=None, legend=None),
            stroke=alt.Stroke("colour:N", scale=None, legend=None),
            strokeWidth=alt.StrokeWidth("wide:Q", scale=None, legend=None),
        )
    )


def _dots(points: pd.DataFrame) -> Drawn:
    x, y = _axes()
    return chart(points).mark_point(filled=True, size=52).encode(x=x, y=y, color=own_colour())


def _corner_boxes() -> list[Box]:
    """Where the quadrants' names stand, in px from above."""
    found = []
    for x, y, align, text in QUADRANTS:
        width, middle = text_width([text]), (1 - y) * SIDE
        left = x * SIDE - (width if align == "right" else 0)
        found.append((left, middle - HEIGHT / 2, left + width, middle + HEIGHT / 2))
    return found


def _corners() -> Drawn:
    layers = []
    for align in ("left", "right"):
        some = [corner for corner in QUADRANTS if corner[2] == align]
        frame = pd.DataFrame(some, columns=["rqr", "sr", "align", "text"])
        mark: Any = chart(frame).mark_text(align=align, fontStyle="italic", color=SOFT)
        layers.append(mark.encode(x=alt.X("rqr:Q"), y=alt.Y("sr:Q"), text="text:N"))
    return alt.layer(*layers)


def _parts(model: ModelRates, row: str) -> list[dict[str, Any]]:
    own = model.found.rates
    counts = (own.n_good, own.n_abstained, own.n_bad, own.n_unparsed - model.n_no_text, model.n_no_text)  # fmt: skip
    parts, low = [], 0.0
    for (fate, fill, ink), n in zip(FATES, counts, strict=True):
        share = n / own.n
        parts.append(
            {
                "name": model.name, "row": row, "fate": fate, "n": n, "share": share, "low": low, "high": low + share,
                "middle": low + share / 2, "colour": fill, "ink": ink, "text": f"{share:.0%}" if share >= 0.05 else "",
            }
        )  # fmt: skip
        low += share
    return parts


def _bars(frame: pd.DataFrame, order: Sequence[str], rows: Any) -> Drawn:
    fills = {name: fill for name, fill, _ in FATES}
    x = alt.X(
        "low:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(title="Share of the answers", format=".0%", tickCount=5),
    )
    bars = (
        chart(frame)
        .mark_bar(height=13)
        .encode(
            x=x,
            x2="high:Q",
            y=rows.y(),
            color=alt.Color(
                "fate:N",
                scale=alt.Scale(domain=list(order), range=[fills[name] for name in order]),
                legend=alt.Legend(title=None, symbolType="square", columns=len(order)),
            ),
        )
    )
    words = (
        chart(frame[frame["text"] != ""])
        .mark_text(fontSize=10)
        .encode(
            x=alt.X("middle:Q"),
            y=rows.y(),
            text="text:N",
            color=alt.Color("ink:N", scale=None, legend=None),
        )
    )
    return (
        alt.layer(bars, words)
        .resolve_scale(color="independent")
        .properties(width=FULL - rows.width - 40, height=rows.height + 4)
    )
