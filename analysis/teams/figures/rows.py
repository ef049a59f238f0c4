"""Rows of teams in figures: dots are a team's members; which teams a figure shows where there are more than a reader compares."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import altair as alt
import pandas as pd
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis.charts.marks import Drawn, chart, own_colour
from analysis.charts.rows import labels, short
from analysis.charts.style import HUMANS, INK, MODELS, PALE, ROW
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.teams.names import METHOD_NAMES, called
from analysis.teams.results import Method, TeamingResult, TeamResult, TeamResults
from lib.formatting import listing, number

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

    These are the members by themselves (at most as many as half of the rows or, where there is room, more; people and then
    the most accurate), the whole team, the whole team less one person, and the most accurate teams of people and models, of
    models, and of people, in equal parts.
    """
    picked = {r.team.label for r in (teams if len(teams) <= most else _picked(teams, most))}
    order = list(KINDS)
    return sorted(
        (r for r in teams if r.team.label in picked),
        key=lambda r: (order.index(kind_of(r)), len(r.team)),
    )


def _picked(teams: Sequence[TeamResult], most: int) -> list[TeamResult]:
    several = [r for r in teams if len(r.team) > 1]
    found = _best([r for r in teams if len(r.team) == 1])[: max(most // 2, most - len(several))]
    found += _whole(several)
    rest = [r for r in _best(several) if r not in found]
    by_kind = [[r for r in rest if kind_of(r) == kind] for kind in (BOTH, MACHINES, PEOPLE)]
    in_turn = [r for row in zip_longest(*by_kind) for r in row if r is not None]
    return [*found, *in_turn][:most]


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
    """Which teams the picture has, where it does not have all; "" where it has."""
    if len(shown) == len(teams):
        return ""
    parts = _members_part(shown, teams)
    special = _whole([r for r in teams if len(r.team) > 1])
    parts += [_("the whole team"), _("the whole team without one person")][: len(special)]
    others = [r for r in shown if len(r.team) > 1 and r not in special]
    words = {BOTH: _("of people and models"), MACHINES: _("of models"), PEOPLE: _("of people")}
    counts = {words[kind]: sum(kind_of(r) == kind for r in others) for kind in words}
    if others:
        which = listing([f"{text} ({n})" for text, n in counts.items() if n])
        most = _("the most accurate pairs %(which)s") if pairs else _("the most accurate teams %(which)s")  # fmt: skip
        parts.append(most % {"which": which})
    return listing(parts)


def _members_part(shown: Sequence[TeamResult], teams: Sequence[TeamResult]) -> list[str]:
    alone = [r for r in shown if len(r.team) == 1]
    if not alone:
        return []
    if len(alone) == sum(len(r.team) == 1 for r in teams):
        return [_("the members by themselves")]
    n = sum(not _is_person(r) for r in alone)
    best = ngettext(
        "the %(n)s most accurate member by itself", "the %(n)s most accurate members by themselves", n
    )  # fmt: skip
    person = [_("a person")] if n < len(alone) else []
    return [*person, best % {"n": n}]


CELL, MARGIN = 16, 10  # px of a member's column, and from the last one to the plot
LONGEST = 32  # letters of a member's name
MOST_OTHERS = 3  # teams that were tried on other trials, by name
NO_TEAM = ("No team of at least two members was tried.", "Choose at least two members.")

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
    """The method whose teams are shown first: the published one where it was tried; ALONE where there are no teams."""
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
            for r in teams
        ],
        columns=["team", "display_name", "method", *columns, *gains],
    )
    return frame.assign(
        **ends(intervals),
        row=frame["team"],
        kind=[kind_of(r) for r in teams],
        colour=[KINDS[kind_of(r)] for r in teams],
    )


@dataclass(frozen=True)
class TriedOn:
    """What teams were tried on: `first`, one of them, stands for all but those named in `others`."""

    first: TeamResult
    others: str

    @classmethod
    def of(cls, teams: Sequence[TeamResult]) -> "TriedOn":
        first = next((r for r in teams if r.n_models), teams[0])
        others = {called(r.team): r.n_trials for r in teams if r.n_trials != first.n_trials}
        named = [_on_trials(name, n) for name, n in list(others.items())[:MOST_OTHERS]]
        return cls(first, listing(named))


def _on_trials(name: str, n: int) -> str:
    text = ngettext("%(name)s on %(n)s trial", "%(name)s on %(n)s trials", n)
    return text % {"name": name, "n": number(n, 0)}
