"""Accuracy of people and of each language model (the paper's figure 3a, and its figure S2 for further models)."""

from collections.abc import Sequence
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
    # A row for all people, one for those with most expertise, then one for each model
    groups = [(EVERYONE, humans.trials)] if humans else []
    if humans and (top := present(humans.top_expertise)):
        groups.append((EXPERTS, top.trials))
    people = [
        {**people_row(row, share), "n": share.n, "n_correct": share.n_correct}
        for row, share in groups
    ]
    rows = rows_of(models, [row["row"] for row in people])
    frame = model_frame(
        models,
        rows,
        lambda m: {
            "n_items": m.items.n,
            "n_correct": m.items.n_correct,
            "accuracy": m.items.accuracy,
        },
        lambda m: m.items.ci95,
        [m.name for m in models if m.is_chat],
    )
    shown = pd.concat([pd.DataFrame(people), frame], ignore_index=True)
    if shown.empty:
        raise NotEnough(
            "These test cases do not have any judgments or scores.", "Collect judgments."
        )
    shown["is_chat"] = shown.get("is_chat", pd.Series(index=shown.index, dtype=object)).eq(True)
    domain = share_domain([*shown["low"], *shown["high"], *shown["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    lines = chance_and_people(humans.trials.accuracy if humans else None, domain)
    drawn = alt.layer(*lines, dots_with_intervals(chart(shown), x, rows.y()))
    drawn = drawn.properties(width=FULL - rows.width - 30, height=rows.height)

    # n: of judgments for people, of test cases for models
    table = shown.reindex(columns=list(TABLE))
    table = table.rename(columns={"low": "ci_low", "high": "ci_high", "row": "who"})
    table["n"] = table["n"].fillna(table.pop("n_items"))
    text = accuracy_figure(humans, models, is_extra=name == "other_models")
    return make_figure(name, drawn, text, table)


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
    frames = []
    for s in found:
        shares = [(EVERYONE, s.humans), (EXPERTS, s.top_expertise and s.top_expertise.trials)]
        of_models = model_frame(
            s.models,
            rows,
            lambda m: {"n": m.share.n, "accuracy": m.share.accuracy},
            lambda m: m.share.ci95,
            source.of(Accuracy).chat_models,
        )
        people = [{**people_row(row, share), "n": share.n} for row, share in shares if share]
        both = pd.concat([pd.DataFrame(people), of_models], ignore_index=True)
        frames.append(both.assign(subfield=s.subfield).reindex(columns=SHOWN))
    frame = pd.concat(frames, ignore_index=True)
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])

    def panel(place: Place) -> Drawn:
        own = found[place.number]
        axis = place.x_axis("Correct answers", format=".0%", values=quarters(domain))
        x = x_of("accuracy", domain, axis)
        y = rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
        layers: list[Any] = [upright(CHANCE)]
        if own.humans:
            layers.append(upright(own.humans.accuracy, colour=HUMANS, width=0.8, dash=False))
        data = chart(frame[frame["subfield"] == own.subfield])
        return alt.layer(*layers, dots_with_intervals(data, x, y, thickness=1.1, size=30))

    drawn = grid(
        [(s.subfield or NOT_STATED, f.count(s.n_items, "test case")) for s in found],
        panel,
        columns=min(len(found), MOST_COLUMNS),
        left=rows.width,
        height=rows.height,
    )
    text = subfields_figure(found, has_chat=bool(frame["is_chat"].eq(True).any()))
    return make_figure("subfields", drawn, text, plain(frame, row="who"))


# --- People's accuracy by career position (the paper's figure 3c).

WIDTH = 520


def positions(source: SourceResults, tables: Tables) -> Figure:
    """A row per position with its 95% interval and number of judgments; all people and chance as lines."""
    found = present(source.of(Positions).positions)
    if not found:
        raise NotEnough("The analysis does not contain any judgments.", "Let participants finish.")
    # Questionnaires store "other" with underscores
    given = [one.position.strip("_ ") for one in found]
    names = [short(name[:1].upper() + name[1:] if name else "Not stated") for name in given]
    frame = pd.DataFrame([people_row(n, p.trials) for n, p in zip(names, found, strict=True)])
    frame["n"] = [f.count(p.trials.n, "judgment") for p in found]
    rows, data = Rows({}, names), chart(frame)
    domain = share_domain([*frame["low"], *frame["high"]])
    humans = present(source.of(Accuracy).humans)
    everyone = humans.trials.accuracy if humans else None
    drawn = alt.layer(
        *chance_and_people(everyone, domain, "all people", 0.15),
        dots_with_intervals(data, share_x("accuracy", domain, "Correct answers"), rows.y()),
        data.mark_text(align="left", color=SOFT, dx=8).encode(
            y=rows.y(), x=alt.value("width"), text="n:N"
        ),
    ).properties(
        width=WIDTH - rows.width - text_width(frame["n"].tolist()) - 14, height=rows.height * 1.4
    )
    text = positions_figure(names, found)
    return make_figure("positions", drawn, text, c.tidy(POSITIONS, found))
