"""What one person adds to each language model: accuracy without and with a human, and the difference."""

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    Drawn,
    chart,
    finish,
    flag,
    own_colour,
    points_axis,
    share_domain,
    share_x,
    spread,
    upright,
)
from analysis.charts.rows import Rows, dots_with_intervals, rows_of
from analysis.charts.style import FULL, SOFT, family_colour
from analysis.presentation import figure_text
from analysis.stats import NotEnough
from analysis.teams.figures.rows import ends, main_method, teams_by_method
from analysis.teams.results import AddingHuman, Member, Method, TeamResults


def adding(results: TeamResults, is_simulated: bool) -> Figure:
    """Models by family: left, accuracy alone and with a human; right, the difference with its 95% interval."""
    by_method = teams_by_method(results)
    method = main_method(by_method)
    accuracy = {
        r.team.label: r.accuracy for m in (Method.ALONE, method) if m in by_method for r in by_method[m]
    }  # fmt: skip
    rows = {
        row.team.label: row
        for row in results.adding_human
        if row.method == method and row.team.label in accuracy and row.with_human in accuracy
    }
    models = [m.member for m in results.members if not m.member.is_human and m.name in rows]
    if not models:
        raise NotEnough(
            "No language model was tried with and without a human.",
            "Choose a human and a language model as members.",
        )
    labelled = rows_of(models)
    frame = _frame(models, [rows[m.name] for m in models], accuracy, labelled)
    context = {
        "is_simulated": is_simulated,
        "method": method,
        "n_trials": frame["n"].max(),
        "n_models": len(models),
        "lowest": frame["difference"].min(),
        "highest": frame["difference"].max(),
        "n_above": int((frame["low"] > 0).sum()),
        "n_below": int((frame["high"] < 0).sum()),
    }
    text = figure_text("teams_adding", context)
    table = frame.drop(columns="colour").rename(columns={"low": "ci_low", "high": "ci_high"})
    drawn = finish(_chart(frame, labelled, is_simulated), text.alt)
    return Figure("teams_adding", text.title, text.caption, text.alt, table, drawn)


def _frame(
    models: list[Member], rows: list[AddingHuman], accuracy: dict[str, float], labelled: Rows
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "row": [labelled.label[m.name] for m in models],
            "name": [m.name for m in models],
            "family": [m.family for m in models],
            "n": [row.gain.n for row in rows],
            "alone": [accuracy[row.team.label] for row in rows],
            "with_human": [accuracy[row.with_human] for row in rows],
            "difference": [row.gain.value for row in rows],
            **ends([row.gain.ci95 for row in rows]),
            "p": [row.gain.p for row in rows],
            "p_holm": [row.p_holm for row in rows],
            "colour": [family_colour(m.family) for m in models],
        }
    )


def _chart(frame: pd.DataFrame, rows: Rows, is_simulated: bool) -> Drawn:
    width = (FULL - rows.width - 64) // 2
    data = chart(frame)
    domain = share_domain([*frame["alone"], *frame["with_human"]], ())
    lines = data.mark_rule(strokeWidth=1.4).encode(
        x=alt.X("alone:Q"), x2="with_human:Q", y=rows.y(), color=own_colour()
    )
    before = data.mark_tick(thickness=2, height=11).encode(
        x=share_x("alone", domain, "Correct answers"), y=rows.y(), color=own_colour()
    )
    after = data.mark_point().encode(x=alt.X("with_human:Q"), y=rows.y(), color=own_colour())
    person = "simulated participant" if is_simulated else "human"
    key = alt.Chart(alt.InlineData(values=[{"text": f"tick: alone, dot: with a {person}"}]))
    label = key.mark_text(align="left", baseline="bottom", color=SOFT)
    label = label.encode(x=alt.value(0), y=alt.value(-4), text="text:N")
    left = alt.layer(lines, before, after, label).properties(width=width, height=rows.height)
    span = list(spread([*frame["low"], *frame["high"], *frame["difference"]], must=[0]))
    x = alt.X(
        "difference:Q",
        scale=alt.Scale(domain=span, nice=False, zero=False),
        axis=points_axis("Change"),
    )
    y = rows.y(labels=False, minExtent=0, maxExtent=0)
    right = alt.layer(upright(0.0), flag(0.0, "no change"), dots_with_intervals(data, x, y))
    return alt.hconcat(left, right.properties(width=width, height=rows.height), spacing=16)
