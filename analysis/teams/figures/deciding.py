"""Joint correctness and whom a team follows; and accuracy where a human is asked, by how often one is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import GAP, Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    note,
    share_axis,
    share_domain,
    text_width,
    wrapped,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, labels, short
from analysis.charts.style import FULL, HUMANS, INK, MODELS
from analysis.charts.texts import quoted
from analysis.presentation import make_figure, plain
from analysis.stats import NotEnough
from analysis.teams.figures.accuracy import (
    BOTH_COLOUR,
    KINDS,
    NO_TEAM,
    ends,
    kind_of,
    left_out,
    main_method,
    of_panel,
    shown_teams,
    teams_by_method,
)
from analysis.teams.figures.captions import Curve, Shown, complementarity_text, policy_text
from analysis.teams.names import MOST_NAMED, called
from analysis.teams.results import (
    ChosenPolicy,
    Policy,
    PolicyPoint,
    Team,
    TeamResult,
    TeamResults,
)
from lib.formatting import percent

Parts = dict[str, tuple[str, str]]  # field of Complementarity -> its words and colour
PAIRS: Parts = {
    "all_right": ("both right", HUMANS),
    "only_first": ("only the first right", "#0072b2"),
    "only_second": ("only the second right", "#c44f00"),
    "none_right": ("neither right", MODELS),
}
TEAMS: Parts = {
    "all_right": ("all right", HUMANS),
    "some_right": ("some right", "#0072b2"),
    "none_right": ("none right", MODELS),
}
DISAGREE = ("only_first", "only_second", "some_right")
MOST_BARS = 30
LONGEST_NAME = 22  # letters of a member's name
SHADES = {"dark: the team is right": 1.0, "pale: the team is wrong": 0.28}  # -> opacity


def complementarity(results: TeamResults, is_simulated: bool) -> Figure:
    """A bar per pair: shares of trials by who is right, the darker part of each where the team is right too."""
    by_method = teams_by_method(results)
    method = main_method(by_method)
    several = [r for r in of_panel(results, by_method[method]) if r.complementarity]
    pairs = [r for r in several if len(r.team) == 2]
    every, parts = (pairs, PAIRS) if pairs else (several, TEAMS)
    if not every:
        raise NotEnough(*NO_TEAM)
    teams = shown_teams(every, MOST_BARS)
    labels: dict[str, str] = {}
    for result in teams:
        names = [short(m.display_name, LONGEST_NAME) for m in result.team.members]
        is_named = len(names) <= MOST_NAMED
        label = short(" + ".join(names), 2 * LONGEST_NAME + 6) if is_named else called(result.team)
        while label in labels.values():  # no two alike
            label += "\N{NO-BREAK SPACE}"
        labels[result.team.label] = label
    # A row per kind of trial, with the bar's ends: `start`, `until` of the team's being right, `end`
    bars = []
    for result in every:
        tried = [getattr(result.complementarity, name) for name in parts]
        columns = {
            "team": result.team.label,
            "display_name": result.team.display_name,
            "trials": [text for text, _ in parts.values()],
            "n": [t.n for t in tried],
            "n_team_right": [t.n_team_right for t in tried],
            "n_team_ties": [t.n_team_ties for t in tried],
            "points": [t.team_points for t in tried],
            "n_all": result.n_trials,
        }
        bar = pd.DataFrame(columns)
        end = bar["n"].cumsum() / bar["n_all"]
        start = end - bar["n"] / bar["n_all"]
        until = start + bar["points"] / bar["n_all"]
        bars.append(bar.assign(start=start, until=until, end=end))
    frame = pd.concat(bars, ignore_index=True)
    of_last = frame[frame["team"] == teams[-1].team.label]
    of = Shown(every, teams, left_out(teams, every, pairs=bool(pairs)), is_simulated)
    parts_of_last = of_last.to_dict("records")
    text = complementarity_text(of, method, parts_of_last, are_pairs=bool(pairs))
    drawn = _parts_chart(frame[frame["team"].isin(labels)], teams, labels, parts)
    return make_figure("teams_complementarity", drawn, text, frame)


def _parts_chart(
    frame: pd.DataFrame,
    teams: Sequence[TeamResult],
    labels: dict[str, str],
    parts: Parts,
) -> Drawn:
    kinds = list(dict.fromkeys(kind_of(r) for r in teams))
    domain = [row for kind in kinds for row in [kind, *[labels[r.team.label] for r in teams if kind_of(r) == kind]]]  # fmt: skip
    rows = Rows(labels, domain, {kind: KINDS[kind] for kind in kinds})
    data = frame.assign(row=frame["team"].map(labels))
    axis = share_axis("Trials" if teams[0].is_judged else "Test cases")
    scale = alt.Scale(domain=[0, 1])
    texts, colours = zip(*parts.values(), strict=True)
    legend = alt.Legend(title=None, symbolType="square")
    square: dict[str, Any] = {
        "symbolType": "square",
        "symbolFillColor": INK,
        "symbolStrokeWidth": 0,
    }
    colour = alt.Color("trials:N", scale=alt.Scale(domain=texts, range=colours), legend=legend)
    shade = alt.Opacity(
        "team_is:N",
        scale=alt.Scale(domain=list(SHADES), range=list(SHADES.values())),
        legend=alt.Legend(title=None, orient="bottom", offset=4, **square),
    )
    bars = [
        chart(data[data[first] < data[last]])
        .mark_bar(height={"band": 0.74})
        .encode(
            x=alt.X(f"{first}:Q", scale=scale, axis=axis), x2=f"{last}:Q", y=rows.y(), color=colour, opacity=shade
        )
        .transform_calculate(team_is=quoted(words))
        for (first, last), words in zip((("start", "until"), ("until", "end")), SHADES, strict=True)
    ]  # fmt: skip
    # Shares of the trials where members disagree on which the team is right
    wanted = [text for name, (text, _) in parts.items() if name in DISAGREE]
    disagree = frame[frame["trials"].isin(wanted)]
    sums = disagree.groupby("team", sort=False)[["n", "points"]].sum()
    sums = sums[sums["n"] > 0]
    shares = zip(sums["n"], sums["points"], strict=True)
    told = {
        "row": [labels[team] for team in sums.index],
        "text": [f"{percent(points / n, 0)} of {n:,}" for n, points in shares],
    }
    followed = chart(pd.DataFrame(told)).mark_text(align="left", dx=8)
    followed = followed.encode(x=alt.value("width"), y=rows.y(), text="text:N")
    head = note("followed the right one", "width", 10, align="left", baseline="bottom", dx=8)
    width = FULL - rows.width - 150
    return alt.layer(*bars, followed, head).properties(width=width, height=rows.height)


POLICIES = {Policy.HUMAN: "that choice counts", Policy.TEAM: "the team decides"}
COLOURS = alt.Scale(domain=list(POLICIES.values()), range=[HUMANS, BOTH_COLOUR])
LINES = {"least certain trials asked": [1, 0], "as many at random": [4, 3]}
THRESHOLD = "threshold chosen on other test cases"
HEIGHT, WIDE = 190, 320
MOST_PANELS = 12  # panels
MOST_IN_ALT = 2
LONGEST_TITLE = 36  # letters over a panel
ROOM = 10  # px between the title of an axis and the next panel


@dataclass(frozen=True)
class _Panel:
    """Texts over the curves of a team."""

    name: str
    display_name: str


def deferral(results: TeamResults, is_simulated: bool) -> Figure:
    """A panel per model: both policies with 95% bands, asking at random as broken lines, the chosen thresholds as diamonds."""
    if not results.policies:
        raise NotEnough(
            "There is no person to ask.", "Choose a human and a language model as members."
        )
    points = sorted(results.policies, key=lambda p: p.share_asked)
    deciders = list({p.team.label: p.team for p in results.policies}.values())
    shown = deciders
    if len(deciders) > MOST_PANELS:
        # Teams of models, and then the models that are most accurate where fewest are asked, in their order
        alone = {p.team.label: p.accuracy for p in reversed(points)}
        best = sorted(deciders, key=lambda team: (len(team) == 1, -alone[team.label]))[:MOST_PANELS]
        shown = [team for team in deciders if team in best]
    # Each policy's ends and highest point, for the alternative text
    curves: list[tuple[str, list[Curve]]] = []
    for team in deciders[:MOST_IN_ALT]:
        each = [[p for p in points if (p.team, p.policy) == (team, policy)] for policy in POLICIES]
        found = [
            Curve(own[0].policy, own[0], own[-1], max(own, key=lambda p: p.accuracy))
            for own in each
            if own
        ]
        curves.append((_title(team), found))
    frame, chosen = _policy_frame(results.policies), _policy_frame(results.policies_chosen)
    n_single = sum(len(team) == 1 for team in shown)
    text = policy_text(
        int(frame["n_trials"].max()),
        len(deciders),
        (n_single, len(shown) - n_single),
        curves,
        has_chosen=len(chosen) > 0,
        is_simulated=is_simulated,
    )
    drawn = _policy_chart(frame, chosen, shown, is_simulated)
    table = pd.concat([frame.assign(kind="curve"), chosen.assign(kind=THRESHOLD)])
    return make_figure("teams_policy", drawn, text, plain(table.drop(columns="policy_words")))


def _policy_frame(rows: Sequence[PolicyPoint] | Sequence[ChosenPolicy]) -> pd.DataFrame:
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


def _policy_chart(
    frame: pd.DataFrame, chosen: pd.DataFrame, deciders: list[Team], is_simulated: bool
) -> Drawn:
    names = labels([_Panel(team.label, _title(team)) for team in deciders])
    shown = frame[frame["model"].isin(names)]
    domain = share_domain([*shown["low"], *shown["high"], *shown["accuracy"], *shown["random_accuracy"]], ())  # fmt: skip
    person = "simulated participant" if is_simulated else "human"

    def draw(place: Place) -> Drawn:
        name = deciders[place.number].label
        title = f"Trials on which a {person} is asked"
        axis = place.x_axis(title, format=".0%", values=[0, 0.5, 1])
        # In lines where one would push the panels apart
        if place.bottom and place.first and text_width([title]) > place.width - ROOM:
            axis.title = wrapped(title, int(place.width / 6.4)).split("\n")
        x = x_of("share_asked", [0, 1], axis)
        axis = place.y_axis("Correct answers", 40, format=".0%", tickCount=5)
        y = y_of("accuracy", domain, axis)
        own = chosen[chosen["model"] == name]
        return _panel(shown[shown["model"] == name], own, x, y, person)

    columns = columns_for(len(deciders), 3)
    if len(deciders) == 1:
        one = draw(Place(first=True, bottom=True, number=0, width=WIDE))
        return one.properties(width=WIDE, height=HEIGHT)
    titles = [(names[team.label], "") for team in deciders]
    drawn = grid(titles, draw, columns=columns, left=44 + GAP, height=HEIGHT)
    return drawn.resolve_scale(color="shared", strokeDash="shared", shape="shared")


def _title(team: Team) -> str:
    """Several models together by their number, where their names are too long for a panel."""
    is_long = len(team) > 1 and len(team.display_name) > LONGEST_TITLE
    return f"{len(team)} models together" if is_long else team.display_name


def _panel(frame: pd.DataFrame, chosen: pd.DataFrame, x: alt.X, y: alt.Y, person: str) -> Drawn:
    data = chart(frame)
    colour = alt.Color(
        "policy_words:N",
        scale=COLOURS,
        legend=alt.Legend(
            title=f"Where a {person} is asked,", titleLimit=400, symbolType="stroke", symbolStrokeWidth=2, symbolOpacity=1
        ),
    )  # fmt: skip
    layers: list[Any] = []
    if frame["low"].notna().any():
        band = data.mark_area(opacity=0.12)
        layers.append(band.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour))
    grey: dict[str, Any] = {"symbolStrokeColor": INK, "symbolFillColor": "white", "title": None}
    grey |= {"orient": "bottom"}
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
