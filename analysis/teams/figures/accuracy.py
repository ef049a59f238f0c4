"""How accurate teams are beside their best members, and what they gain over these by every way of combining."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    flag,
    intervals,
    note,
    own_colour,
    points_axis,
    share_domain,
    share_x,
    spread,
    text_width,
    upright,
    x_of,
)
from analysis.charts.rows import dots_with_intervals
from analysis.charts.style import FULL, INK
from analysis.presentation import make_figure, plain
from analysis.stats import NotEnough
from analysis.teams.figures.rows import (
    MOST,
    NO_TEAM,
    ByMethod,
    TeamRows,
    TriedOn,
    left_out,
    main_method,
    of_panel,
    shown_teams,
    team_frame,
    team_rows,
    teams_by_method,
)
from analysis.teams.names import METHOD_NAMES, method_name
from analysis.teams.results import Method, TeamResult, TeamResults
from lib.formatting import listing, percent


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
    drawn = _accuracy_chart(_frame(teams), team_rows(results, teams))
    return make_figure("teams", drawn, context, plain(_frame(every).drop(columns="row")))


def _frame(teams: list[TeamResult]) -> pd.DataFrame:
    return team_frame(teams, [r.accuracy_ci95 for r in teams])


def _accuracy_chart(frame: pd.DataFrame, rows: TeamRows) -> Drawn:
    ends = [*frame["low"], *frame["high"], *frame["accuracy"], *frame["best_member_accuracy"]]
    x = share_x("accuracy", share_domain(ends), "Correct answers")
    layers: list[Any] = [rows.guides(), upright(CHANCE), flag(CHANCE, "chance")]
    layers.append(dots_with_intervals(chart(frame), x, rows.y()))
    best = frame[frame["best_member_accuracy"].notna()]
    if len(best):
        ticks = chart(best).mark_tick(thickness=2, height=13, color=INK)
        layers.append(ticks.encode(x=alt.X("best_member_accuracy:Q"), y=rows.y()))
        key = "upright tick: best member by itself"
        layers.append(note(key, "width", -4, align="right", baseline="bottom"))
    shares = chart(frame.assign(text=[percent(a) for a in frame["accuracy"]]))
    text = shares.mark_text(align="right", dx=44)
    layers.append(text.encode(x=alt.value("width"), y=rows.y(), text="text:N", color=own_colour()))
    layers += rows.columns()
    width = FULL - rows.left - 70
    return alt.layer(*layers).properties(width=width, height=rows.height)


SURE = 0.05
FEWER = 24  # rows, where panels stand below one another
ALIKE_ON_PAIRS = (Method.AVERAGE, Method.MAJORITY, Method.MOST_CONFIDENT)


def _method_gains(method: Method, teams: Sequence[TeamResult]) -> dict[str, Any]:
    """A method's teams for the alternative text: how many gain, for how many that is sure, and the most."""
    above = [r for r in teams if _gain(r) > 0]
    return {
        "method": method,
        "n": len(teams),
        "n_above": len(above),
        "n_sure": sum(r.gain_p_holm is not None and r.gain_p_holm < SURE for r in above),
        "best": max(teams, key=_gain),
    }


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
    # Every team once, its numbers by the first method
    first = next(iter(by_method.values()))
    several = [r for teams in by_method.values() for r in teams]
    union = list({r.team.label: r for r in (*several, *first)}.values())
    shown = shown_teams(union, MOST if len(by_method) <= 3 else FEWER)
    rows = team_rows(results, shown)
    frames = {m: team_frame(teams, [r.gain_ci95 for r in teams]) for m, teams in by_method.items()}
    inside = {m: f[f["row"].isin(rows.domain)] for m, f in frames.items()}
    inside = {m: f for m, f in inside.items() if len(f)}
    drawn = _gain_chart(inside, {m: _heading(m, by_method[m], union) for m in inside}, rows)
    context = {
        "on": TriedOn.of(union),
        "is_simulated": is_simulated,
        "resampled": TriedOn.of(union).first,
        "every": union,
        "shown": shown,
        "left_out": left_out(shown, union),
        "alike": _alike(by_method),
        "methods": [_method_gains(m, teams) for m, teams in by_method.items()],
    }
    table = pd.concat(frames.values(), ignore_index=True).drop(columns="row")
    return make_figure("teams_gain", drawn, context, plain(table, low="gain_low", high="gain_high"))


def _heading(method: Method, teams: Sequence[TeamResult], union: Sequence[TeamResult]) -> str:
    """The method; that it was tried on pairs alone, where others were tried on more."""
    only = _are_pairs(teams) and not _are_pairs(union)
    return f"{method_name(method)} (pairs only)" if only else method_name(method)


def _are_pairs(teams: Sequence[TeamResult]) -> bool:
    return all(len(r.team) == 2 for r in teams)


def _gain_chart(
    frames: dict[Method, pd.DataFrame], headings: dict[Method, str], rows: TeamRows
) -> Drawn:
    every = pd.concat(frames.values())
    domain = spread([*every["low"], *every["high"], *every["gain"]], must=[0])
    names = list(frames)

    def draw(place: Place) -> Drawn:
        frame = frames[names[place.number]]
        axis = points_axis("Gain", tickCount=4 if place.width > 140 else 3)
        if not place.bottom:
            axis.title = None
        elif text_width([str(axis.title)]) > place.width:
            axis.title = ["Gain,", "percentage points"]
        x = x_of("gain", domain, axis)
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
    sure = frame["gain_p_holm"].astype(float) < SURE
    marks = [intervals(data, rows.y(), strokeWidth=1.2)]
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
