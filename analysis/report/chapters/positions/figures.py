"""People's accuracy by career position (the paper's figure 3c)."""

from collections.abc import Mapping

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
    text_width,
    upright,
)
from analysis.charts.rows import Rows, dots_with_intervals, people_row, short
from analysis.charts.style import HUMANS, SOFT
from analysis.codec import present, tidy_table
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.positions.results import COLUMNS, Positions
from analysis.stats import NotEnough
from lib import formatting as f

WIDTH = 520


def positions(source: SourceResults, tables: Tables) -> Figure:
    """A row per position with its 95% interval and number of judgments; all people and chance as lines."""
    found = present(source.of(Positions).positions)
    if not found:
        raise NotEnough("Nobody's judgments are in the analysis.", "Let participants finish.")
    names = [_label(p.position) for p in found]
    frame = pd.DataFrame([people_row(n, p.trials) for n, p in zip(names, found, strict=True)])
    frame["n"] = [f.count(p.trials.n, "judgment") for p in found]
    humans = present(source.of(Accuracy).humans)
    drawn = _chart(frame, Rows({}, names), humans.trials.accuracy if humans else None)
    context = {
        "rows": [(name, p.trials.accuracy) for name, p in zip(names, found, strict=True)],
        "n_trials": sum(p.trials.n for p in found),
        "n_participants": sum(p.n_participants for p in found),
    }
    text = figure_text("positions", context)
    return Figure(
        "positions",
        text.title,
        text.caption,
        text.alt,
        tidy_table(found, COLUMNS),
        finish(drawn, text.alt),
    )


FIGURES: Mapping[str, FigureBuilder] = {"positions": positions}


def _label(position: str) -> str:
    """A position as the figure names it; questionnaires store "other" with underscores."""
    name = position.strip("_ ")
    return short(name[:1].upper() + name[1:] if name else "Not stated")


def _chart(frame: pd.DataFrame, rows: Rows, everyone: float | None) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"]])
    x = share_x("accuracy", domain, "Correct answers")
    data = chart(frame)
    counts = data.mark_text(align="left", color=SOFT, dx=8).encode(
        y=rows.y(), x=alt.value("width"), text="n:N"
    )
    layers = [upright(CHANCE), flag(CHANCE, "chance")]
    if everyone is not None:
        layers.append(upright(everyone, colour=HUMANS, width=0.8, dash=False))
        if abs(everyone - CHANCE) > 0.15 * (domain[1] - domain[0]):  # else the words would meet
            layers.append(flag(everyone, "all people", HUMANS))
    right = text_width(frame["n"].tolist()) + 14
    return alt.layer(*layers, dots_with_intervals(data, x, rows.y()), counts).properties(
        width=WIDTH - rows.width - right, height=rows.height * 1.4
    )
