"""Accuracy by subfield (the paper's figure 3b, as dots with intervals instead of a radar)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
from django.utils.translation import gettext as _

from analysis.charts.figure import Figure, Place, grid
from analysis.charts.marks import CHANCE, Drawn, chart, finish, quarters, share_domain, upright
from analysis.charts.rows import Rows, dots_with_intervals, model_frame, people_row, rows_of
from analysis.charts.style import HUMANS
from analysis.codec import present
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.accuracy.figures import EVERYONE, EXPERTS
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.subfields.results import SubfieldAccuracy, Subfields
from analysis.stats import NotEnough
from lib import formatting as f

MOST_COLUMNS = 5
COLUMNS = ["subfield", "row", "name", "family", "n", "accuracy", "low", "high", "colour", "is_chat"]


def subfields(source: SourceResults, tables: Tables) -> Figure:
    """A panel per subfield: people above, models by family, all with 95% intervals; people's accuracy as a line."""
    found = [s for s in present(source.of(Subfields).subfields) or () if s.humans or s.models]
    if not found:
        raise NotEnough("No subfield has judgments or scores yet.", "Collect judgments or score.")
    models = list({m.name: m for s in found for m in s.models}.values())
    rows = rows_of(models, [EVERYONE, EXPERTS] if any(s.humans for s in found) else [])
    chat = source.of(Accuracy).chat_models
    frame = pd.concat([_frame(s, rows, chat) for s in found], ignore_index=True)
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    drawn = grid(
        [(s.subfield or _("not stated"), f.count(s.n_items, "test case")) for s in found],
        lambda place: _panel(frame, found[place.number], rows, domain, place),
        columns=min(len(found), MOST_COLUMNS),
        left=rows.width,
        height=rows.height,
    )
    text = figure_text("subfields", _context(found) | {"has_chat": frame["is_chat"].eq(True).any()})
    table = frame.drop(columns=["colour", "is_chat"]).rename(
        columns={"low": "ci_low", "high": "ci_high", "row": "who"}
    )
    return Figure("subfields", text.title, text.caption, text.alt, table, finish(drawn, text.alt))


FIGURES: Mapping[str, FigureBuilder] = {"subfields": subfields}


def _context(found: Sequence[SubfieldAccuracy]) -> dict[str, Any]:
    return {
        "subfields": found,
        "n_trials": sum(s.humans.share.n for s in found if s.humans),
        "n_items": sum(s.n_items for s in found),
        "experts": EXPERTS,
    }


def _frame(found: SubfieldAccuracy, rows: Rows, chat: Collection[str]) -> pd.DataFrame:
    shares = [
        (EVERYONE, found.humans and found.humans.share),
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
    return both.assign(subfield=found.subfield).reindex(columns=COLUMNS)


def _panel(
    frame: pd.DataFrame, found: SubfieldAccuracy, rows: Rows, domain: list[float], place: Place
) -> Drawn:
    data = chart(frame[frame["subfield"] == found.subfield])
    x = alt.X(
        "accuracy:Q",
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        axis=place.x_axis("Correct answers", format=".0%", values=quarters(domain)),
    )
    y = rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
    layers: list[Any] = [upright(CHANCE)]
    if found.humans:
        layers.append(upright(found.humans.share.accuracy, colour=HUMANS, width=0.8, dash=False))
    points = dots_with_intervals(data, x, y, thickness=1.1, size=30)
    return alt.layer(*layers, points)
