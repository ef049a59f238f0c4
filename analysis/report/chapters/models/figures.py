"""How far models find the same items hard, and whether people do: all pairs, and each model beside people."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    Drawn,
    chance_and_people,
    chart,
    dots,
    flag,
    intervals,
    own_colour,
    share_domain,
    share_x,
    spread,
    text_width,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, by_family, dots_with_intervals, labels, model_frame, rows_of
from analysis.charts.style import FULL, HUMANS, INK, SOFT, family_colour
from analysis.codec import need, present
from analysis.data.dataset import MODEL_NAME
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.models.results import (
    Agreement,
    HumanAgreement,
    Integration,
)
from analysis.report.chapters.models.words import (
    agreement_figure,
    integration_figure,
    with_people_figure,
)
from analysis.stats import NotEnough
from lib.formatting import number

RHO = "\N{GREEK SMALL LETTER RHO}"
PEOPLE = "People"
LEGIBLE = 24  # px: cells at least this wide hold their number
TABLE = (*MODEL_NAME, "family", "n", "rho", "p", "low", "high")


def agreement(source: SourceResults, tables: Tables) -> Figure:
    """Lower triangle of Spearman correlations of difficulty; each row's name ends it and heads its column; people below."""
    own = need(source.of(Agreement).agreement)
    models = by_family(own.models_human)
    has_people = any(m.known for m in models)
    if len(models) < 2 and not has_people:
        raise NotEnough("Agreement needs at least two models.", "Score a second model.")
    names = labels(models)
    matrix = np.array(own.matrix).reshape(len(models), -1)
    at = {name: k for k, name in enumerate(own.names)}
    rows = [
        {"row": a.name, "column": b.name, "i": i, "j": j, "rho": matrix[at[a.name], at[b.name]]}
        for i, a in enumerate(models)
        for j, b in enumerate(models[:i])
    ]
    below = len(models) + 0.35  # a gap between models and people
    rows += [
        {"row": PEOPLE, "column": m.name, "i": below, "j": j, "rho": m.known.rho}
        for j, m in enumerate(models)
        if m.known
    ]
    cells = pd.DataFrame(rows)
    cells["text"] = [number(x) if np.isfinite(x) else "" for x in cells["rho"]]
    drawn = _agreement_chart(cells, names, models, has_people)
    text = agreement_figure(own, models)
    return make_figure("agreement", drawn, text, cells.drop(columns="text"))


def models_humans_agreement(source: SourceResults, tables: Tables) -> Figure:
    """Dots with 95% intervals; a line at zero, and at the ceiling that people's reliability sets."""
    own = need(source.of(Agreement).agreement)
    models = [m for m in own.models_human if m.known]
    if not models:
        raise NotEnough(
            "No model shares judged test cases with people.", "Collect judgments and score models."
        )
    rows = rows_of(models)
    frame = model_frame(
        models,
        rows,
        lambda m: {"n": m.known.n, "rho": m.known.rho, "p": m.known.p} if m.known else {},
        lambda m: m.known.ci95 if m.known else None,
        source.of(Accuracy).chat_models,
    )
    # The highest correlation with people that noise allows: the root of the reliability, with its 95% interval's ends.
    # A reliability that may be 0 sets no limit
    top: float | None = None
    ends: list[float] = []
    people = present(own.noise_ceiling)
    if people and people.halves.is_clear:
        top = float(np.sqrt(people.halves.spearman_brown))
        ends = [max(end, 0.0) ** 0.5 for end in people.halves.ci95 or ()]

    low, high = spread([*frame["low"], *frame["high"], *ends], must=[0, *([top] if top else [])])
    axis = alt.Axis(title=f"Spearman's {RHO} with people's accuracy", tickCount=6)
    x = x_of("rho", [low, min(high, 1.0)], axis)
    layers: list[Any] = [upright(0.0), flag(0.0, "none")]
    if ends:
        data = alt.Chart(alt.InlineData(values=[{"low": min(ends), "high": max(ends)}]))
        band = data.mark_rect(color=HUMANS, opacity=0.1)
        layers.append(band.encode(x=alt.X("low:Q"), x2="high:Q"))
    if top:
        layers += [upright(top, colour=HUMANS), flag(top, "noise ceiling", HUMANS)]
    drawn: Drawn = alt.layer(*layers, dots_with_intervals(chart(frame), x, rows.y())).properties(
        width=FULL - rows.width - 30, height=rows.height
    )
    text = with_people_figure(frame, top, ends)
    table = plain(frame.reindex(columns=list(TABLE)))
    return make_figure("models_humans_agreement", drawn, text, table)


def _agreement_chart(
    cells: pd.DataFrame,
    names: Mapping[str, str],
    models: Sequence[HumanAgreement],
    has_people: bool,
) -> Drawn:
    n = len(models)
    right = text_width([*names.values(), PEOPLE])
    cell = int(max(13, min(36, (FULL - right - 24) / n)))
    lowest = min(0.0, float(np.floor(cells["rho"].min() * 10) / 10))
    height = cell if cell < LEGIBLE else min(cell, 28)
    rows = n + (1.35 if has_people else 0)
    x, y = x_of("x", [0, n], None), y_of("y", [rows, 0], None)
    data = chart(cells.assign(x=cells["j"], x2=cells["j"] + 1, y=cells["i"], y2=cells["i"] + 1))
    colour = alt.Color(
        "rho:Q",
        scale=alt.Scale(
            domain=[lowest, 1], range=["#f7f8f9", "#cfe0ec", "#6ba3c9", "#1c5f92", "#0a2f4f"]
        ),
        legend=alt.Legend(
            title=f"Spearman's {RHO}", gradientLength=160, gradientThickness=10, tickCount=5
        ),
    )
    boxes = data.mark_rect(stroke="white", strokeWidth=1).encode(
        x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour
    )
    layers: list[alt.Chart] = [boxes]
    if cell >= LEGIBLE:
        middle = chart(
            cells.assign(x=cells["j"] + 0.5, y=cells["i"] + 0.5, dark=cells["rho"] > 0.55)
        )
        ink = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
        layers.append(middle.mark_text(fontSize=10).encode(x=x, y=y, text="text:N", color=ink))
    # Each row's name ends it and heads its column
    headings = [
        {"x": i, "y": i + 0.5, "text": names[m.name], "colour": family_colour(m.family)}
        for i, m in enumerate(models)
    ]
    if has_people:
        headings.append({"x": n, "y": n + 0.85, "text": PEOPLE, "colour": HUMANS})
    texts = chart(pd.DataFrame(headings)).mark_text(align="left", dx=5)
    layers.append(texts.encode(x=x, y=y, text="text:N", color=own_colour()))
    return alt.layer(*layers).properties(width=cell * n, height=height * rows)


# --- Accuracy on whole abstracts, on single sentences, and on abstracts with swapped results (the paper's integration).

WHOLE, SENTENCES, FOREIGN = "whole abstract", "single sentences", "swapped results"
DASHES = {WHOLE: [1, 0], SENTENCES: [5, 2], FOREIGN: [2, 2]}
FORMS = {WHOLE: "circle", SENTENCES: "square", FOREIGN: "triangle-up"}


def integration(source: SourceResults, tables: Tables) -> Figure:
    """A row per model with a shape per condition; people's accuracy and chance as lines."""
    own = need(source.of(Integration).integration)
    humans = present(source.of(Accuracy).humans)
    rows = rows_of(own.models)
    chat = source.of(Accuracy).chat_models
    frames = []
    for model in own.models:
        seen = [
            (WHOLE, model.full, model.n_items, None, model.full_ci95),
            (SENTENCES, model.isolated_pooled, model.n_sentences, None, model.isolated_ci95),
            *((FOREIGN, s.accuracy, s.n, s.seed, s.ci95) for s in model.swapped),
        ]
        frame = pd.DataFrame(
            [(*row, *(ci95 or (np.nan, np.nan))) for *row, ci95 in seen],
            columns=["condition", "accuracy", "n", "seed", "low", "high"],
        )
        frames.append(
            frame.assign(
                **model.named,
                row=rows.label[model.name],
                colour=family_colour(model.family),
                is_chat=model.name in chat,
            )
        )
    frame = pd.concat(frames, ignore_index=True).dropna(subset="accuracy")
    kinds = [kind for kind in FORMS if (frame["condition"] == kind).any()]
    text = integration_figure(own, has_chat=bool(frame["is_chat"].any()))
    drawn = _integration_chart(frame, rows, kinds, humans.trials.accuracy if humans else None)
    return make_figure("integration", drawn, text, plain(frame))


def _integration_chart(
    frame: pd.DataFrame, rows: Rows, kinds: Sequence[str], people: float | None
) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    layers = chance_and_people(people, domain)
    legend = alt.Legend(title=None, symbolFillColor=SOFT, symbolStrokeColor=SOFT, offset=22)
    scale = alt.Scale(domain=kinds, range=[FORMS[k] for k in kinds])
    shape = alt.Shape("condition:N", scale=scale, legend=legend)
    # Lines within a model's row, one for each condition and seed
    for first, kind in zip((-7, -2, 3), kinds, strict=False):
        of_kind = frame[frame["condition"] == kind]
        seeds = of_kind.groupby("row").cumcount()
        for seed in sorted(set(seeds)):
            data, shift = chart(of_kind[seeds == seed]), first + 4 * seed
            bars = intervals(
                data, rows.y(), strokeWidth=1, strokeDash=DASHES[kind], opacity=0.7, yOffset=shift
            )
            points = dots(data, size=30, yOffset=shift)
            layers += [bars, points.encode(x=x, y=rows.y(), shape=shape)]
    return alt.layer(*layers).properties(
        width=FULL - rows.width - 30, height=round(rows.height * 1.5)
    )
