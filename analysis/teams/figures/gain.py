"""What teams gain over the best of their members, by every way of combining that was tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    finish,
    own_colour,
    points_axis,
    spread,
    text_width,
    upright,
)
from analysis.charts.style import FULL
from analysis.presentation import figure_text
from analysis.stats import NotEnough
from analysis.teams.figures.rows import (
    NO_TEAM,
    ByMethod,
    TeamRows,
    TriedOn,
    of_panel,
    team_frame,
    team_rows,
    teams_by_method,
)
from analysis.teams.figures.selection import MOST, left_out, shown_teams
from analysis.teams.names import METHOD_NAMES, method_name
from analysis.teams.results import Method, TeamResult, TeamResults
from lib.formatting import listing

SURE = 0.05
FEWER = 24  # rows, where panels stand below one another
ALIKE_ON_PAIRS = (Method.AVERAGE, Method.MAJORITY, Method.MOST_CONFIDENT)


@dataclass(frozen=True)
class MethodGains:
    """A method's teams for the alternative text: how many gain, for how many that is sure, and the most."""

    method: Method
    n: int
    n_above: int
    n_sure: int
    best: TeamResult

    @classmethod
    def of(cls, method: Method, teams: Sequence[TeamResult]) -> "MethodGains":
        above = [r for r in teams if _gain(r) > 0]
        n_sure = sum(r.gain_p_holm is not None and r.gain_p_holm < SURE for r in above)
        return cls(method, len(teams), len(above), n_sure, max(teams, key=_gain))


def _gain(result: TeamResult) -> float:
    return result.gain if result.gain is not None else 0.0


def gain(results: TeamResults, is_simulated: bool) -> Figure:
    """A panel per method, a row per team: accuracy minus that of the best member, with 95% intervals."""
    found = teams_by_method(results)
    by_method: ByMethod = {}
    for method in METHOD_NAMES:
        teams = of_panel(results, found[method]) if method in found else []
        if with_gain := tuple(r for r in teams if r.gain is not None):
            by_method[method] = with_gain
    if not by_method:
        raise NotEnough(*NO_TEAM)
    union = _each_team(by_method)
    shown = shown_teams(union, MOST if len(by_method) <= 3 else FEWER)
    rows = team_rows(results, shown)
    frames = {m: team_frame(teams, [r.gain_ci95 for r in teams]) for m, teams in by_method.items()}
    inside = {m: f[f["row"].isin(rows.domain)] for m, f in frames.items()}
    inside = {m: f for m, f in inside.items() if len(f)}
    drawn = _chart(inside, {m: _heading(m, by_method[m], union) for m in inside}, rows)
    context = {
        "on": TriedOn.of(union),
        "is_simulated": is_simulated,
        "resampled": TriedOn.of(union).first,
        "every": union,
        "shown": shown,
        "left_out": left_out(shown, union),
        "alike": _alike(by_method),
        "methods": [MethodGains.of(m, teams) for m, teams in by_method.items()],
    }
    text = figure_text("teams_gain", context)
    table = pd.concat(frames.values(), ignore_index=True).drop(columns=["row", "colour"])
    table = table.rename(columns={"low": "gain_low", "high": "gain_high"})
    drawn = finish(drawn, text.alt)
    return Figure("teams_gain", text.title, text.caption, text.alt, table, drawn)


def _each_team(by_method: ByMethod) -> list[TeamResult]:
    """Every team once, its numbers by the first method."""
    first = next(iter(by_method.values()))
    several = [r for teams in by_method.values() for r in teams]
    return list({r.team.label: r for r in (*several, *first)}.values())


def _heading(method: Method, teams: Sequence[TeamResult], union: Sequence[TeamResult]) -> str:
    """The method; that it was tried on pairs alone, where others were tried on more."""
    only = _are_pairs(teams) and not _are_pairs(union)
    return f"{method_name(method)} (pairs only)" if only else method_name(method)


def _are_pairs(teams: Sequence[TeamResult]) -> bool:
    return all(len(r.team) == 2 for r in teams)


def _chart(
    frames: dict[Method, pd.DataFrame], headings: dict[Method, str], rows: TeamRows
) -> Drawn:
    every = pd.concat(frames.values())
    domain = list(spread([*every["low"], *every["high"], *every["gain"]], must=[0]))
    names = list(frames)

    def draw(place: Place) -> Drawn:
        frame = frames[names[place.number]]
        axis = points_axis("Gain", tickCount=4 if place.width > 140 else 3)
        if not place.bottom:
            axis.title = None
        elif text_width([str(axis.title)]) > place.width:
            axis.title = ["Gain,", "percentage points"]
        x = alt.X("gain:Q", scale=alt.Scale(domain=domain, nice=False, zero=False), axis=axis)
        layers: list[Any] = [rows.guides(), upright(0.0), *_marks(frame, x, rows)]
        return alt.layer(*layers, *(rows.columns() if place.first else []))

    if len(names) == 1:
        width = FULL - rows.left - 30
        alone = draw(Place(first=True, bottom=True, number=0, width=width))
        return alone.properties(width=width, height=rows.height)
    titles = [(headings[name], "") for name in names]
    columns = columns_for(len(names), 3)
    return grid(titles, draw, columns=columns, left=rows.left, height=rows.height)


def _marks(frame: pd.DataFrame, x: alt.X, rows: TeamRows) -> list[Drawn]:
    """Filled where the gain is sure after Holm's correction, else hollow."""
    data = chart(frame)
    bars = data.mark_rule(strokeWidth=1.2).encode(
        x=alt.X("low:Q"), x2="high:Q", y=rows.y(), color=own_colour()
    )
    sure = frame["gain_p_holm"].astype(float) < SURE
    marks = [bars]
    for some, fill in ((frame[sure], {"filled": True}), (frame[~sure], {"filled": False, "fill": "white", "strokeWidth": 1.5})):  # fmt: skip
        if len(some):
            marks.append(
                chart(some).mark_point(size=40, **fill).encode(x=x, y=rows.y(), color=own_colour())
            )
    return marks


def _alike(by_method: ByMethod) -> str:
    """Methods that cannot differ on pairs: of two members the surer one decides, as its vote breaks the tie."""
    pairs = {
        m: {r.team.label: (r.n_correct, r.complementarity) for r in by_method[m] if len(r.team) == 2}
        for m in ALIKE_ON_PAIRS
        if m in by_method
    }  # fmt: skip
    found = [m for m in pairs if pairs[m]]
    if len(found) < 2 or any(pairs[m] != pairs[found[0]] for m in found):
        return ""
    return listing([method_name(m) for m in found])
