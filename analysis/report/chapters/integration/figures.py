"""Accuracy on whole abstracts, on single sentences, and on abstracts with foreign contexts (the paper's integration)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    dots,
    finish,
    flag,
    own_colour,
    share_domain,
    share_x,
    upright,
)
from analysis.charts.rows import Rows, rows_of
from analysis.charts.style import FULL, HUMANS, SOFT, family_colour
from analysis.codec import need, present
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.integration.results import Integration, ModelIntegration
from analysis.stats.estimates import wilson
from lib.formatting import known

WHOLE, SENTENCES, FOREIGN = "whole abstract", "single sentences", "foreign context"
DASHES = {WHOLE: [1, 0], SENTENCES: [5, 2], FOREIGN: [2, 2]}
FORMS = {WHOLE: "circle", SENTENCES: "square", FOREIGN: "triangle-up"}


def integration(source: SourceResults, tables: Tables) -> Figure:
    """A row per model with a shape per condition; people's accuracy and chance as lines."""
    own = need(source.of(Integration).integration)
    humans = present(source.of(Accuracy).humans)
    rows = rows_of(own.models)
    chat = source.of(Accuracy).chat_models
    frame = pd.concat([_frame(m, rows, chat) for m in own.models], ignore_index=True)
    frame = frame.dropna(subset="accuracy")
    means = frame.groupby("condition")["accuracy"].mean()
    kinds = [kind for kind in FORMS if kind in means]
    whole, sentences, foreign = (known(mean) for mean in means.reindex(list(FORMS)))
    context = {
        "own": own,
        "n_models": len(own.models),
        "whole": whole,
        "sentences": sentences,
        "foreign": foreign,
        "has_chat": bool(frame["is_chat"].any()),
    }
    text = figure_text("integration", context)
    drawn = _chart(frame, rows, kinds, humans.trials.accuracy if humans else None)
    table = frame.drop(columns=["colour", "is_chat"]).rename(
        columns={"low": "ci_low", "high": "ci_high"}
    )
    drawn = finish(drawn, text.alt)
    return Figure("integration", text.title, text.caption, text.alt, table, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"integration": integration}


def _frame(model: ModelIntegration, rows: Rows, chat: Collection[str]) -> pd.DataFrame:
    seen = [
        {"condition": WHOLE, "accuracy": model.full, "n": model.n_items},
        {"condition": SENTENCES, "accuracy": model.isolated_pooled, "n": model.n_sentences},
        *(
            {"condition": FOREIGN, "accuracy": s.accuracy, "n": s.n, "seed": s.seed}
            for s in model.swapped
        ),
    ]
    frame = pd.DataFrame(seen, columns=["condition", "accuracy", "n", "seed"])
    low, high = wilson((frame["accuracy"] * frame["n"]).round(), frame["n"])
    return frame.assign(
        name=model.name,
        row=rows.label[model.name],
        colour=family_colour(model.family),
        is_chat=model.name in chat,
        low=low,
        high=high,
    )


def _chart(frame: pd.DataFrame, rows: Rows, kinds: Sequence[str], people: float | None) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    layers: list[Any] = [upright(CHANCE), flag(CHANCE, "chance")]
    if people is not None:
        layers.append(upright(people, colour=HUMANS, width=0.8, dash=False))
        if abs(people - CHANCE) > 0.12 * (domain[1] - domain[0]):
            layers.append(flag(people, "people", HUMANS))
    legend = alt.Legend(title=None, symbolFillColor=SOFT, symbolStrokeColor=SOFT, offset=22)
    scale = alt.Scale(domain=kinds, range=[FORMS[k] for k in kinds])
    shape = alt.Shape("condition:N", scale=scale, legend=legend)
    for shift, dash, some in _lines(frame, kinds):
        data = chart(some)
        bars = data.mark_rule(strokeWidth=1, strokeDash=dash, opacity=0.7, yOffset=shift).encode(
            x=alt.X("low:Q"), x2="high:Q", y=rows.y(), color=own_colour()
        )
        layers += [bars, dots(data, size=30, yOffset=shift).encode(x=x, y=rows.y(), shape=shape)]
    return alt.layer(*layers).properties(
        width=FULL - rows.width - 30, height=round(rows.height * 1.5)
    )


def _lines(
    frame: pd.DataFrame, kinds: Sequence[str]
) -> Iterator[tuple[int, list[int], pd.DataFrame]]:
    """What stands on a line of its own within a model's row, each condition and seed: its offset in px and its dashes."""
    for shift, kind in zip((-7, -2, 3), kinds, strict=False):
        some = frame[frame["condition"] == kind]
        place = some.groupby("row").cumcount()
        for n in sorted(set(place)):
            yield shift + 4 * n, DASHES[kind], some[place == n]
