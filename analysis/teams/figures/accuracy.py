"""How accurate teams are beside their best members, and what they gain over these by every way of combining."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
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
from analysis.charts.rows import dots_with_intervals, labels, short
from analysis.charts.style import FULL, HUMANS, INK, MODELS, PALE, ROW
from analysis.presentation import make_figure, plain
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.verdicts import Verdict
from analysis.teams.figures.captions import Shown, accuracy_text, gain_text
from analysis.teams.names import METHOD_NAMES, method_name
from analysis.teams.results import Method, TeamingResult, TeamResult, TeamResults
from lib.formatting import count, listing, percent

BOTH_COLOUR = "#0072b2"
PEOPLE, MACHINES, BOTH = "People", "Models", "People and models"
KINDS = {PEOPLE: HUMANS, MACHINES: MODELS, BOTH: BOTH_COLOUR}
MOST = 40  # rows; a reader compares no more


def kind_of(result: TeamResult) -> str:
    if not result.n_models:
        return PEOPLE
    return BOTH if result.n_humans else MACHINES


def shown_teams(teams: Sequence[TeamResult], most: int = MOST) -> list[TeamResult]:
    """By kind and then by size; where there are more than `most`, those of a rule that favours no kind of team.

    These are single members (at most as many as half of the rows or, where there is room, more; people and then
    the most accurate), the whole team, the whole team less one person, and the most accurate teams of people and models, of
    models, and of people, in equal parts.
    """
    chosen = list(teams)
    if len(teams) > most:
        several = [r for r in teams if len(r.team) > 1]
        n_alone = max(most // 2, most - len(several))
        chosen = [*_best([r for r in teams if len(r.team) == 1])[:n_alone], *_whole(several)]
        rest = [r for r in _best(several) if r not in chosen]
        by_kind = [[r for r in rest if kind_of(r) == kind] for kind in (BOTH, MACHINES, PEOPLE)]
        chosen += [r for row in zip_longest(*by_kind) for r in row if r is not None]
    picked = {r.team.label for r in chosen[:most]}
    order = list(KINDS)
    return sorted(
        (r for r in teams if r.team.label in picked),
        key=lambda r: (order.index(kind_of(r)), len(r.team)),
    )


def _is_person(result: TeamResult) -> bool:
    return len(result.team) == 1 and result.n_humans == 1


def _best(teams: Sequence[TeamResult]) -> list[TeamResult]:
    """People by themselves, then the most accurate."""
    return sorted(teams, key=lambda r: (not _is_person(r), -r.accuracy))


def _whole(several: Sequence[TeamResult]) -> list[TeamResult]:
    """The team of all members and the same with one person less; nothing where several are the largest."""
    size = max((len(r.team) for r in several), default=0)
    whole = [r for r in several if len(r.team) == size]
    if len(whole) != 1:
        return []
    people = whole[0].team.humans
    less = {name for name in whole[0].team.names if name not in [m.name for m in people[-1:]]}
    fewer = [r for r in several if people and set(r.team.names) == less]
    return [*whole, *fewer]


def left_out(shown: Sequence[TeamResult], teams: Sequence[TeamResult], *, pairs: bool = False) -> str:  # fmt: skip
    """Sentence on the teams that the picture has, where it does not have all; "" where it has."""
    if len(shown) == len(teams):
        return ""
    parts: list[str] = []
    alone = [r for r in shown if len(r.team) == 1]
    if len(alone) == sum(len(r.team) == 1 for r in teams):
        parts += ["single members"] if alone else []
    elif alone:
        n_models = sum(not _is_person(r) for r in alone)
        parts += ["a person"] if n_models < len(alone) else []
        parts.append(f"the {count(n_models, 'most accurate single member')}")
    special = _whole([r for r in teams if len(r.team) > 1])
    parts += ["the whole team", "the whole team without one person"][: len(special)]
    others = [r for r in shown if len(r.team) > 1 and r not in special]
    words = {BOTH: "of people and models", MACHINES: "of models", PEOPLE: "of people"}
    counts = {words[kind]: sum(kind_of(r) == kind for r in others) for kind in words}
    if others:
        which = listing([f"{text} ({n})" for text, n in counts.items() if n])
        parts.append(f"the most accurate {'pairs' if pairs else 'teams'} {which}")
    return listing(parts)


CELL, MARGIN = 16, 10  # px of a member's column, and from the last one to the plot
LONGEST = 32  # letters of a member's name
NO_TEAM = ("No team of at least two members was evaluated.", "Choose at least two members.")

ByMethod = dict[Method, tuple[TeamResult, ...]]


@dataclass(frozen=True)
class TeamRows:
    """`teams` from top to bottom; `members`: name -> label, a column each; `domain`: the y axis, headings among teams."""

    teams: list[TeamResult]
    members: dict[str, str]
    domain: list[str]

    @property
    def left(self) -> int:
        """px that the members' columns take."""
        return CELL * len(self.members) + MARGIN

    @property
    def height(self) -> int:
        return ROW * len(self.domain)

    def y(self) -> alt.Y:
        scale = alt.Scale(domain=self.domain, paddingInner=0.2, paddingOuter=0.1)
        return alt.Y("row:N", scale=scale, sort=None, axis=None)

    def guides(self) -> Drawn:
        """A pale line in each row, from its members to its mark."""
        data = chart(pd.DataFrame({"row": [r.team.label for r in self.teams]}))
        return data.mark_rule(color=PALE, strokeWidth=0.8).encode(y=self.y())

    def columns(self) -> list[Drawn]:
        """Left of the plot: the members' names over their columns, a dot where one is in the team, the kinds' headings."""
        at = {name: CELL * k - self.left + CELL / 2 for k, name in enumerate(self.members)}
        x = alt.X("px:Q", scale=None, axis=None)
        dots = [
            {"row": r.team.label, "px": at[name], "colour": KINDS[kind_of(r)] if name in r.team.names else PALE}
            for r in self.teams
            for name in at
        ]  # fmt: skip
        joined = [
            {"row": r.team.label, "px": at[r.team.names[0]], "end": at[r.team.names[-1]], "colour": KINDS[kind_of(r)]}
            for r in self.teams
        ]  # fmt: skip
        heads = [
            {"row": row, "text": row, "px": -self.left, "colour": KINDS[row]}
            for row in self.domain
            if row in KINDS
        ]
        names = [{"px": at[name], "text": text} for name, text in self.members.items()]
        bold = chart(pd.DataFrame(heads)).mark_text(align="left", fontWeight="bold", fontSize=11)
        upright = chart(pd.DataFrame(names)).mark_text(angle=270, align="left", color=INK)
        lines = chart(pd.DataFrame(joined)).mark_rule(strokeWidth=1.6)
        points = chart(pd.DataFrame(dots)).mark_point(size=52)
        return [
            lines.encode(x=x, x2=alt.X2("end:Q"), y=self.y(), color=own_colour()),
            points.encode(x=x, y=self.y(), color=own_colour()),
            bold.encode(x=x, y=self.y(), text="text:N", color=own_colour()),
            upright.encode(x=x, y=alt.value(-6), text="text:N"),
        ]


def of_panel(results: TeamResults, teams: Sequence[TeamResult]) -> list[TeamResult]:
    """The teams of a report's panel, of which all subsets were tried; all teams where there is no panel."""
    if not isinstance(results, TeamingResult) or not results.panel:
        return list(teams)
    return [r for r in teams if results.is_of_panel(r.team)] or list(teams)


def teams_by_method(results: TeamResults) -> ByMethod:
    """Raises NotEnough where no team, and no member by itself, was tried."""
    found = results.by_method()
    if not found:
        raise NotEnough(*NO_TEAM)
    return found


def main_method(by_method: ByMethod) -> Method:
    """The method whose teams are shown first: the default where it was tried; ALONE where there are no teams."""
    return next((method for method in METHOD_NAMES if method in by_method), Method.ALONE)


def team_rows(results: TeamResults, teams: Sequence[TeamResult]) -> TeamRows:
    """Rows for these teams in their order; members in the order of the results' own list, people first."""
    listed = [m.member for m in results.members]
    members = {m.name: m for m in (*listed, *(m for r in teams for m in r.team.members))}
    used = {name for r in teams for name in r.team.names}
    ordered = sorted((m for m in members.values() if m.name in used), key=lambda m: not m.is_human)
    named = [replace(m, display_name=short(m.display_name, LONGEST)) for m in ordered]
    domain: list[str] = []
    for result in teams:
        kind = kind_of(result)
        domain += [kind] if kind not in domain else []
        domain.append(result.team.label)
    return TeamRows(list(teams), labels(named), domain)


def ends(intervals: Sequence[Interval | None]) -> dict[str, Any]:
    """Columns `low` and `high` of intervals, empty where there is none."""
    pairs = [interval or (None, None) for interval in intervals]
    return {
        "low": pd.Series([pair[0] for pair in pairs], dtype=float).to_numpy(),
        "high": pd.Series([pair[1] for pair in pairs], dtype=float).to_numpy(),
    }


def team_frame(teams: Sequence[TeamResult], intervals: Sequence[Interval | None]) -> pd.DataFrame:
    """The teams as a table, with the ends `low` and `high` of their intervals, `row`, `kind` and `colour`."""
    columns = ("n_trials", "n_items", "n_participants", "n_correct", "accuracy", "best_member", "best_member_accuracy")  # fmt: skip
    gains = ("gain", "gain_p", "gain_p_holm")
    frame = pd.DataFrame(
        [
            {"team": r.team.label, "display_name": r.team.display_name, "method": str(r.method)}
            | {name: getattr(r, name) for name in (*columns, *gains)}
            | {"gain_verdict": r.gain_verdict.value if r.gain_verdict else None}
            for r in teams
        ],
        columns=["team", "display_name", "method", *columns, *gains, "gain_verdict"],
    )
    return frame.assign(
        **ends(intervals),
        row=frame["team"],
        kind=[kind_of(r) for r in teams],
        colour=[KINDS[kind_of(r)] for r in teams],
    )


def accuracy(results: TeamResults, is_simulated: bool) -> Figure:
    """A row per team with its 95% interval, members as dots on the left; a tick where the best member stands."""
    by_method = teams_by_method(results)
    method = main_method(by_method)
    methods = [m for m in dict.fromkeys((Method.ALONE, method)) if m in by_method]
    every = of_panel(results, [r for m in methods for r in by_method[m]])
    teams = shown_teams(every)
    text = accuracy_text(Shown(every, teams, left_out(teams, every), is_simulated), method)
    frame, rows = _frame(teams), team_rows(results, teams)
    numbers = [*frame["low"], *frame["high"], *frame["accuracy"], *frame["best_member_accuracy"]]
    x = share_x("accuracy", share_domain(numbers), "Correct answers")
    layers: list[Any] = [rows.guides(), upright(CHANCE), flag(CHANCE, "chance")]
    layers.append(dots_with_intervals(chart(frame), x, rows.y()))
    best = frame[frame["best_member_accuracy"].notna()]
    if len(best):
        ticks = chart(best).mark_tick(thickness=2, height=13, color=INK)
        layers.append(ticks.encode(x=alt.X("best_member_accuracy:Q"), y=rows.y()))
        key = "vertical tick: best single member"
        layers.append(note(key, "width", -4, align="right", baseline="bottom"))
    shares = chart(frame.assign(text=[percent(a) for a in frame["accuracy"]]))
    words = shares.mark_text(align="right", dx=44)
    layers.append(words.encode(x=alt.value("width"), y=rows.y(), text="text:N", color=own_colour()))
    layers += rows.columns()
    drawn = alt.layer(*layers).properties(width=FULL - rows.left - 70, height=rows.height)
    return make_figure("teams", drawn, text, plain(_frame(every).drop(columns="row")))


def _frame(teams: list[TeamResult]) -> pd.DataFrame:
    return team_frame(teams, [r.accuracy_ci95 for r in teams])


FEWER = 24  # rows, where panels stand below one another
ALIKE_ON_PAIRS = (Method.AVERAGE, Method.MAJORITY, Method.MOST_CONFIDENT)


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
    # A method says that it was tried on pairs alone, where others were tried on more
    headings = {
        m: f"{method_name(m)} (pairs only)"
        if _are_pairs(by_method[m]) and not _are_pairs(union)
        else method_name(m)
        for m in inside
    }
    drawn = _gain_chart(inside, headings, rows)
    of = Shown(union, shown, left_out(shown, union), is_simulated)
    # Methods that cannot differ on pairs: of two members the surer one decides, as its vote breaks the tie
    pairs = {
        m: {
            r.team.label: (r.n_correct, r.complementarity) for r in by_method[m] if len(r.team) == 2
        }
        for m in ALIKE_ON_PAIRS
        if m in by_method
    }
    on_pairs = [m for m in pairs if pairs[m]]
    are_alike = len(on_pairs) > 1 and all(pairs[m] == pairs[on_pairs[0]] for m in on_pairs)
    alike = listing([method_name(m) for m in on_pairs]) if are_alike else ""
    text = gain_text(of, by_method, alike)
    table = pd.concat(frames.values(), ignore_index=True).drop(columns="row")
    return make_figure("teams_gain", drawn, text, plain(table, low="gain_low", high="gain_high"))


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
        lines = intervals(chart(frame), rows.y(), strokeWidth=1.2)
        layers: list[Any] = [rows.guides(), upright(0.0), lines]
        # Filled where the gain or loss is clear, else hollow
        clear = frame["gain_verdict"].isin([Verdict.ABOVE.value, Verdict.BELOW.value])
        hollow = {"filled": False, "fill": "white", "strokeWidth": 1.5}
        for some, fill in ((frame[clear], {"filled": True}), (frame[~clear], hollow)):
            if len(some):
                dots = chart(some).mark_point(size=40, **fill)
                layers.append(dots.encode(x=x, y=rows.y(), color=own_colour()))
        return alt.layer(*layers, *(rows.columns() if place.first else []))

    if len(names) == 1:
        width = FULL - rows.left - 30
        alone = draw(Place(first=True, bottom=True, number=0, width=width))
        return alone.properties(width=width, height=rows.height)
    titles = [(headings[name], "") for name in names]
    columns = columns_for(len(names), 3)
    return grid(titles, draw, columns=columns, left=rows.left, height=rows.height)
