"""Accuracy of people and of each language model (the paper's figure 3a, and its figure S2 for further models)."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    finish,
    flag,
    share_domain,
    share_x,
    upright,
)
from analysis.charts.rows import Rows, dots_with_intervals, model_frame, people_row, rows_of
from analysis.charts.style import FULL, HUMANS
from analysis.codec import present
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy, HumanAccuracy, ModelAccuracy
from analysis.stats import NotEnough

EVERYONE, EXPERTS = "All judgments", "Top fifth by expertise"
TABLE = ("row", "name", "family", "is_chat", "n", "n_items", "n_correct", "accuracy", "low", "high")


def accuracy(source: SourceResults, tables: Tables) -> Figure:
    """Dots with 95% intervals: people above, models by family below, chance and people's accuracy as lines."""
    own = source.of(Accuracy)
    mean = present(own.models_mean)
    return _figure(
        "accuracy",
        present(own.humans),
        present(own.models) or (),
        mean.mean if mean else None,
    )


def other_models(source: SourceResults, tables: Tables) -> Figure:
    """The same for the models outside the study's set."""
    own = source.of(Accuracy)
    models = present(own.extra_models) or ()
    if not models:
        raise NotEnough("There are no further models.", "Score one that is not in the study's set.")
    return _figure("other_models", present(own.humans), models, None)


FIGURES: Mapping[str, FigureBuilder] = {"accuracy": accuracy, "other_models": other_models}


def _figure(
    name: str,
    humans: HumanAccuracy | None,
    models: Sequence[ModelAccuracy],
    mean: float | None,
) -> Figure:
    people = _people_rows(humans)
    rows = rows_of(models, [p["row"] for p in people])
    chat = [m.name for m in models if m.is_chat]
    frame = model_frame(models, rows, _columns, lambda m: m.items.ci95, chat)
    shown = pd.concat([pd.DataFrame(people), frame], ignore_index=True)
    if shown.empty:
        raise NotEnough("Nobody has judged or scored these test cases.", "Collect judgments.")
    shown["is_chat"] = shown.get("is_chat", pd.Series(index=shown.index, dtype=object)).eq(True)
    text = figure_text(
        "accuracy", {"is_extra": name == "other_models", **_context(humans, models, mean)}
    )
    drawn = finish(_chart(shown, rows, humans), text.alt)
    return Figure(name, text.title, text.caption, text.alt, _table(shown), drawn)


def _context(
    humans: HumanAccuracy | None, models: Sequence[ModelAccuracy], mean: float | None
) -> dict[str, Any]:
    shares = [m.items.accuracy for m in models]
    return {
        "humans": humans,
        "top": present(humans.top_expertise) if humans else None,
        "models": models,
        "has_chat": any(m.is_chat for m in models),
        "least_items": min((m.items.n for m in models), default=0),
        "most_items": max((m.items.n for m in models), default=0),
        "mean_accuracy": mean
        if mean is not None
        else sum(shares) / len(shares)
        if shares
        else None,
        "lowest": min(shares, default=None),
        "highest": max(shares, default=None),
    }


def _people_rows(humans: HumanAccuracy | None) -> list[dict[str, Any]]:
    """A row for all people, one for those with most expertise."""
    if humans is None:
        return []
    top = present(humans.top_expertise)
    both = [(EVERYONE, humans.trials), *([(EXPERTS, top.trials)] if top else [])]
    return [
        {**people_row(row, share), "n": share.n, "n_correct": share.n_correct}
        for row, share in both
    ]


def _columns(model: ModelAccuracy) -> dict[str, Any]:
    share = model.items
    return {
        "n_items": share.n,
        "n_correct": share.n_correct,
        "accuracy": share.accuracy,
    }


def _chart(shown: pd.DataFrame, rows: Rows, humans: HumanAccuracy | None) -> Drawn:
    domain = share_domain([*shown["low"], *shown["high"], *shown["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    layers: list[Any] = [upright(CHANCE), flag(CHANCE, "chance")]
    if humans:
        right = humans.trials.accuracy
        layers.append(upright(right, colour=HUMANS, width=0.8, dash=False))
        if abs(right - CHANCE) > 0.12 * (domain[1] - domain[0]):
            layers.append(flag(right, "people", HUMANS))
    layers.append(dots_with_intervals(chart(shown), x, rows.y()))
    width = FULL - rows.width - 30
    return alt.layer(*layers).properties(width=width, height=rows.height)


def _table(shown: pd.DataFrame) -> pd.DataFrame:
    named = shown.reindex(columns=list(TABLE)).rename(
        columns={"low": "ci_low", "high": "ci_high", "row": "who"}
    )
    named["n"] = named["n"].fillna(named.pop("n_items"))
    return named
