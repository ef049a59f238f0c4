"""Accuracy of people and of each language model (the paper's figure 3a, and its figure S2 for further models)."""

from collections.abc import Collection, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis import columns as c
from analysis.charts.figure import Figure, Place, grid
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chance_and_people,
    chart,
    quarters,
    share_domain,
    share_x,
    text_width,
    upright,
    x_of,
)
from analysis.charts.rows import Rows, dots_with_intervals, model_frame, people_row, rows_of, short
from analysis.charts.style import FULL, HUMANS, SOFT
from analysis.codec import present
from analysis.data.dataset import MODEL_NAME
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.accuracy.results import (
    POSITIONS,
    Accuracy,
    HumanAccuracy,
    ModelAccuracy,
    Positions,
    SubfieldAccuracy,
    Subfields,
)
from analysis.report.chapters.accuracy.words import (
    EVERYONE,
    EXPERTS,
    NOT_STATED,
    accuracy_figure,
    positions_figure,
    subfields_figure,
)
from analysis.stats import NotEnough
from lib import formatting as f

TABLE = ("row", *MODEL_NAME, "family", "is_chat", "n", "n_items", "n_correct", "accuracy", "low", "high")  # fmt: skip


def accuracy(source: SourceResults, tables: Tables) -> Figure:
    """Dots with 95% intervals: people above, models by family below, chance and people's accuracy as lines."""
    own = source.of(Accuracy)
    return _figure("accuracy", present(own.humans), present(own.models) or ())


def other_models(source: SourceResults, tables: Tables) -> Figure:
    """The same for the models outside the study's set."""
    own = source.of(Accuracy)
    models = present(own.extra_models) or ()
    if not models:
        raise NotEnough(
            "There are no further models.", "Score a model that is not in the study's set."
        )
    return _figure("other_models", present(own.humans), models)


def _figure(name: str, humans: HumanAccuracy | None, models: Sequence[ModelAccuracy]) -> Figure:
    people = _people_rows(humans)
    rows = rows_of(models, [p["row"] for p in people])
    chat = [m.name for m in models if m.is_chat]
    frame = model_frame(models, rows, _columns, lambda m: m.items.ci95, chat)
    shown = pd.concat([pd.DataFrame(people), frame], ignore_index=True)
    if shown.empty:
        raise NotEnough(
            "These test cases do not have any judgments or scores.", "Collect judgments."
        )
    shown["is_chat"] = shown.get("is_chat", pd.Series(index=shown.index, dtype=object)).eq(True)
    text = accuracy_figure(humans, models, is_extra=name == "other_models")
    return make_figure(name, _accuracy_chart(shown, rows, humans), text, _table(shown))


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
    return {"n_items": share.n, "n_correct": share.n_correct, "accuracy": share.accuracy}


def _accuracy_chart(shown: pd.DataFrame, rows: Rows, humans: HumanAccuracy | None) -> Drawn:
    domain = share_domain([*shown["low"], *shown["high"], *shown["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    lines = chance_and_people(humans.trials.accuracy if humans else None, domain)
    drawn = alt.layer(*lines, dots_with_intervals(chart(shown), x, rows.y()))
    return drawn.properties(width=FULL - rows.width - 30, height=rows.height)


def _table(shown: pd.DataFrame) -> pd.DataFrame:
    columns = {"low": "ci_low", "high": "ci_high", "row": "who"}
    named = shown.reindex(columns=list(TABLE)).rename(columns=columns)
    named["n"] = named["n"].fillna(named.pop("n_items"))
    return named


# --- Accuracy by subfield (the paper's figure 3b, as dots with intervals instead of a radar).

MOST_COLUMNS = 5
SHOWN = ["subfield", "row", *MODEL_NAME, "family", "n", "accuracy", "low", "high", "colour", "is_chat"]  # fmt: skip


def subfields(source: SourceResults, tables: Tables) -> Figure:
    """A panel per subfield: people above, models by family, all with 95% intervals; people's accuracy as a line."""
    found = [s for s in present(source.of(Subfields).subfields) or () if s.humans or s.models]
    if not found:
        raise NotEnough(
            "No subfield has judgments or scores yet.", "Collect judgments or score models."
        )
    models = list({m.name: m for s in found for m in s.models}.values())
    rows = rows_of(models, [EVERYONE, EXPERTS] if any(s.humans for s in found) else [])
    chat = source.of(Accuracy).chat_models
    frame = pd.concat([_frame(s, rows, chat) for s in found], ignore_index=True)
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    drawn = grid(
        [(s.subfield or NOT_STATED, f.count(s.n_items, "test case")) for s in found],
        lambda place: _panel(frame, found[place.number], rows, domain, place),
        columns=min(len(found), MOST_COLUMNS),
        left=rows.width,
        height=rows.height,
    )
    text = subfields_figure(found, has_chat=bool(frame["is_chat"].eq(True).any()))
    return make_figure("subfields", drawn, text, plain(frame, row="who"))


def _frame(found: SubfieldAccuracy, rows: Rows, chat: Collection[str]) -> pd.DataFrame:
    shares = [
        (EVERYONE, found.humans),
        (EXPERTS, found.top_expertise and found.top_expertise.trials),
    ]
    people = [{**people_row(row, share), "n": share.n} for row, share in shares if share]
    models = model_frame(
        found.models,
        rows,
        lambda m: {"n": m.share.n, "accuracy": m.share.accuracy},
        lambda m: m.share.ci95,
        chat,
    )
    both = pd.concat([pd.DataFrame(people), models], ignore_index=True)
    return both.assign(subfield=found.subfield).reindex(columns=SHOWN)


def _panel(
    frame: pd.DataFrame, found: SubfieldAccuracy, rows: Rows, domain: list[float], place: Place
) -> Drawn:
    data = chart(frame[frame["subfield"] == found.subfield])
    axis = place.x_axis("Correct answers", format=".0%", values=quarters(domain))
    x = x_of("accuracy", domain, axis)
    y = rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
    layers: list[Any] = [upright(CHANCE)]
    if found.humans:
        layers.append(upright(found.humans.accuracy, colour=HUMANS, width=0.8, dash=False))
    points = dots_with_intervals(data, x, y, thickness=1.1, size=30)
    return alt.layer(*layers, points)


# --- People's accuracy by career position (the paper's figure 3c).

WIDTH = 520


def positions(source: SourceResults, tables: Tables) -> Figure:
    """A row per position with its 95% interval and number of judgments; all people and chance as lines."""
    found = present(source.of(Positions).positions)
    if not found:
        raise NotEnough("The analysis does not contain any judgments.", "Let participants finish.")
    names = [_label(p.position) for p in found]
    frame = pd.DataFrame([people_row(n, p.trials) for n, p in zip(names, found, strict=True)])
    frame["n"] = [f.count(p.trials.n, "judgment") for p in found]
    humans = present(source.of(Accuracy).humans)
    drawn = _positions_chart(frame, Rows({}, names), humans.trials.accuracy if humans else None)
    text = positions_figure(names, found)
    return make_figure("positions", drawn, text, c.tidy(POSITIONS, found))


def _label(position: str) -> str:
    """A position as the figure names it; questionnaires store "other" with underscores."""
    name = position.strip("_ ")
    return short(name[:1].upper() + name[1:] if name else "Not stated")


def _positions_chart(frame: pd.DataFrame, rows: Rows, everyone: float | None) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"]])
    x = share_x("accuracy", domain, "Correct answers")
    data = chart(frame)
    counts = data.mark_text(align="left", color=SOFT, dx=8).encode(
        y=rows.y(), x=alt.value("width"), text="n:N"
    )
    layers = chance_and_people(everyone, domain, "all people", 0.15)
    right = text_width(frame["n"].tolist()) + 14
    return alt.layer(*layers, dots_with_intervals(data, x, rows.y()), counts).properties(
        width=WIDTH - rows.width - right, height=rows.height * 1.4
    )
