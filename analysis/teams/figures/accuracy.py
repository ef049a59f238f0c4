"""Accuracy of teams of people and language models, beside the best member of each."""

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
    own_colour,
    share_domain,
    share_x,
    upright,
)
from analysis.charts.rows import dots_with_intervals
from analysis.charts.style import FULL, INK, SOFT
from analysis.presentation import figure_text
from analysis.teams.figures.rows import (
    TeamRows,
    TriedOn,
    main_method,
    of_panel,
    team_frame,
    team_rows,
    teams_by_method,
)
from analysis.teams.figures.selection import left_out, shown_teams
from analysis.teams.results import Method, TeamResult, TeamResults
from lib.formatting import percent


def accuracy(results: TeamResults, is_simulated: bool) -> Figure:
    """A row per team with its 95% interval, members as dots on the left; a tick where the best member stands."""
    by_method = teams_by_method(results)
    method = main_method(by_method)
    methods = [m for m in dict.fromkeys((Method.ALONE, method)) if m in by_method]
    every = of_panel(results, [r for m in methods for r in by_method[m]])
    teams = shown_teams(every)
    several = [r for r in every if len(r.team) > 1]
    alone = [r for r in every if len(r.team) == 1]
    context = {
        "on": TriedOn.of(every),
        "is_simulated": is_simulated,
        "method": method,
        "several": several,
        "resampled": (several or every)[0] if any(r.accuracy_ci95 for r in every) else None,
        "left_out": left_out(teams, every),
        "shown": teams,
        "every": every,
        "best_alone": max(alone, key=lambda r: r.accuracy, default=None),
        "best": max(several, key=lambda r: r.accuracy, default=None),
        "lowest": min((r.accuracy for r in several), default=None),
    }
    text = figure_text("teams", context)
    table = _frame(every).drop(columns=["row", "colour"])
    table = table.rename(columns={"low": "ci_low", "high": "ci_high"})
    drawn = _chart(_frame(teams), team_rows(results, teams))
    return Figure("teams", text.title, text.caption, text.alt, table, finish(drawn, text.alt))


def _frame(teams: list[TeamResult]) -> pd.DataFrame:
    return team_frame(teams, [r.accuracy_ci95 for r in teams])


def _chart(frame: pd.DataFrame, rows: TeamRows) -> Drawn:
    ends = [*frame["low"], *frame["high"], *frame["accuracy"], *frame["best_member_accuracy"]]
    x = share_x("accuracy", share_domain(ends), "Correct answers")
    layers: list[Any] = [rows.guides(), upright(CHANCE), flag(CHANCE, "chance")]
    layers.append(dots_with_intervals(chart(frame), x, rows.y()))
    best = frame[frame["best_member_accuracy"].notna()]
    if len(best):
        ticks = chart(best).mark_tick(thickness=2, height=13, color=INK)
        layers.append(ticks.encode(x=alt.X("best_member_accuracy:Q"), y=rows.y()))
        key = alt.Chart(alt.InlineData(values=[{"text": "upright tick: best member by itself"}]))
        label = key.mark_text(align="right", baseline="bottom", color=SOFT)
        layers.append(label.encode(x=alt.value("width"), y=alt.value(-4), text="text:N"))
    shares = chart(frame.assign(text=[percent(a) for a in frame["accuracy"]]))
    text = shares.mark_text(align="right", dx=44)
    layers.append(text.encode(x=alt.value("width"), y=rows.y(), text="text:N", color=own_colour()))
    layers += rows.columns()
    width = FULL - rows.left - 70
    return alt.layer(*layers).properties(width=width, height=rows.height)
