"""Who decides: accuracy against the share of trials on which a human is asked, where the model is least certain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd
from django.utils.translation import gettext as _

from analysis.charts.figure import GAP, Figure, Place, columns_for, grid
from analysis.charts.marks import Drawn, chart, finish, share_domain, text_width, wrapped
from analysis.charts.rows import labels
from analysis.charts.style import HUMANS, INK
from analysis.presentation import figure_text
from analysis.stats import NotEnough
from analysis.teams.figures.rows import ends
from analysis.teams.figures.selection import BOTH_COLOUR
from analysis.teams.results import ChosenPolicy, Policy, PolicyPoint, Team, TeamResults

POLICIES = {Policy.HUMAN: "that choice counts", Policy.TEAM: "the team decides"}
COLOURS = alt.Scale(domain=list(POLICIES.values()), range=[HUMANS, BOTH_COLOUR])
LINES = {"least certain trials asked": [1, 0], "as many at random": [4, 3]}
THRESHOLD = "threshold chosen on other test cases"
HEIGHT, WIDE = 190, 320
MOST = 12  # panels
MOST_IN_ALT = 2
LONGEST = 36  # letters over a panel
ROOM = 10  # px between the title of an axis and the next panel


@dataclass(frozen=True)
class _Panel:
    """What stands over the curves of a team."""

    name: str
    display_name: str


@dataclass(frozen=True)
class Curve:
    """A policy's ends and highest point, for the alternative text."""

    policy: Policy
    first: PolicyPoint
    last: PolicyPoint
    best: PolicyPoint


def deferral(results: TeamResults, is_simulated: bool) -> Figure:
    """A panel per model: both policies with 95% bands, asking at random as broken lines, the chosen thresholds as diamonds."""
    if not results.policies:
        raise NotEnough("Nobody could be asked.", "Choose a human and a language model as members.")
    deciders = list({p.team.label: p.team for p in results.policies}.values())
    shown = _shown(results.policies, deciders)
    frame, chosen = _frame(results.policies), _frame(results.policies_chosen)
    n_single = sum(len(team) == 1 for team in shown)
    context = {
        "is_simulated": is_simulated,
        "n_trials": frame["n_trials"].max(),
        "n_deciders": len(deciders),
        "has_chosen": len(chosen) > 0,
        "is_short": len(shown) < len(deciders),
        "n_single": n_single,
        "n_several": len(shown) - n_single,
        "deciders": [(_title(team), _curves(results.policies, team)) for team in deciders[:MOST_IN_ALT]],
    }  # fmt: skip
    text = figure_text("teams_policy", context)
    drawn = finish(_chart(frame, chosen, shown, is_simulated), text.alt)
    table = pd.concat([frame.assign(kind="curve"), chosen.assign(kind=THRESHOLD)])
    table = table.drop(columns="policy_words").rename(columns={"low": "ci_low", "high": "ci_high"})
    return Figure("teams_policy", text.title, text.caption, text.alt, table, drawn)


def _curves(points: Sequence[PolicyPoint], team: Team) -> list[Curve]:
    found = []
    for policy in POLICIES:
        own = [p for p in points if p.team == team and p.policy == policy]
        own.sort(key=lambda p: p.share_asked)
        if own:
            found.append(Curve(policy, own[0], own[-1], max(own, key=lambda p: p.accuracy)))
    return found


def _shown(points: Sequence[PolicyPoint], deciders: list[Team]) -> list[Team]:
    """Where they are too many, teams of models and then the models that are most accurate alone, in their order."""
    if len(deciders) <= MOST:
        return deciders
    alone: dict[str, float] = {}
    for point in sorted(points, key=lambda p: p.share_asked):
        alone.setdefault(point.team.label, point.accuracy)
    best = sorted(deciders, key=lambda team: (len(team) == 1, -alone[team.label]))[:MOST]
    return [team for team in deciders if team in best]


def _frame(rows: Sequence[PolicyPoint] | Sequence[ChosenPolicy]) -> pd.DataFrame:
    columns = ["model", "display_name", "policy", "share_asked", "threshold", "n_asked", "n_trials", "n_correct", "accuracy", "random_accuracy"]  # fmt: skip
    frame = pd.DataFrame(
        [
            {"model": r.team.label, "display_name": r.team.display_name, "policy": str(r.policy)}
            | {name: getattr(r, name) for name in columns[3:-1]}
            | {"random_accuracy": r.random_accuracy if isinstance(r, PolicyPoint) else None}
            for r in rows
        ],
        columns=columns,
    )
    return frame.astype({"random_accuracy": float, "threshold": float}).assign(
        **ends([r.accuracy_ci95 for r in rows]),
        policy_words=[POLICIES[r.policy] for r in rows],
    )


def _chart(
    frame: pd.DataFrame, chosen: pd.DataFrame, deciders: list[Team], is_simulated: bool
) -> Drawn:
    names = labels([_Panel(team.label, _title(team)) for team in deciders])
    shown = frame[frame["model"].isin(names)]
    domain = share_domain([*shown["low"], *shown["high"], *shown["accuracy"], *shown["random_accuracy"]], ())  # fmt: skip
    person = _("simulated participant") if is_simulated else _("human")

    def draw(place: Place) -> Drawn:
        name = deciders[place.number].label
        x = alt.X(
            "share_asked:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=_x_axis(place, _("Trials on which a %(person)s is asked") % {"person": person}),
        )
        axis = place.y_axis(_("Correct answers"), 40, format=".0%", tickCount=5)
        y = alt.Y("accuracy:Q", scale=alt.Scale(domain=domain, nice=False, zero=False), axis=axis)
        own = chosen[chosen["model"] == name]
        return _panel(shown[shown["model"] == name], own, x, y, person)

    columns = columns_for(len(deciders), 3)
    if len(deciders) == 1:
        one = draw(Place(first=True, bottom=True, number=0, width=WIDE))
        return one.properties(width=WIDE, height=HEIGHT)
    titles = [(names[team.label], "") for team in deciders]
    drawn = grid(titles, draw, columns=columns, left=44 + GAP, height=HEIGHT)
    return drawn.resolve_scale(color="shared", strokeDash="shared", shape="shared")


def _x_axis(place: Place, title: str) -> alt.Axis:
    """Its title in lines where one would push the panels apart."""
    axis = place.x_axis(title, format=".0%", values=[0, 0.5, 1])
    if place.bottom and place.first and text_width([title]) > place.width - ROOM:
        axis.title = wrapped(title, int(place.width / 6.4)).split("\n")
    return axis


def _title(team: Team) -> str:
    """Several models together by their number, where their names are too long for a panel."""
    is_long = len(team) > 1 and len(team.display_name) > LONGEST
    return _("%(n)s models together") % {"n": len(team)} if is_long else team.display_name


def _panel(frame: pd.DataFrame, chosen: pd.DataFrame, x: alt.X, y: alt.Y, person: str) -> Drawn:
    data = chart(frame)
    colour = alt.Color(
        "policy_words:N",
        scale=COLOURS,
        legend=alt.Legend(
            title=_("Where a %(person)s is asked,") % {"person": person}, titleLimit=400, symbolType="stroke", symbolStrokeWidth=2, symbolOpacity=1
        ),
    )  # fmt: skip
    layers: list[Any] = []
    if frame["low"].notna().any():
        band = data.mark_area(opacity=0.12)
        layers.append(band.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour))
    grey: dict[str, Any] = {
        "symbolStrokeColor": INK,
        "symbolFillColor": "white",
        "title": None,
        "orient": "bottom",
    }
    dash = alt.StrokeDash(
        "line:N",
        scale=alt.Scale(domain=list(LINES), range=list(LINES.values())),
        legend=alt.Legend(symbolType="stroke", symbolSize=300, symbolStrokeWidth=1.6, **grey),
    )
    columns = {"accuracy": 1.8, "random_accuracy": 1.1}
    for text, (column, width) in zip(LINES, columns.items(), strict=True):
        line = chart(frame.assign(line=text)).mark_line(strokeWidth=width)
        height = y if column == "accuracy" else alt.Y(f"{column}:Q")
        layers.append(line.encode(x=x, y=height, color=colour, strokeDash=dash))
    if len(chosen):
        marks = chart(chosen.assign(mark=THRESHOLD)).mark_point(size=80, stroke=INK, strokeWidth=1)
        fill = alt.Fill("policy_words:N", scale=COLOURS, legend=None)
        shape = alt.Shape(
            "mark:N", scale=alt.Scale(range=["diamond"]), legend=alt.Legend(padding=4, **grey)
        )
        layers.append(marks.encode(x=x, y=y, fill=fill, shape=shape))
    return alt.layer(*layers)
