"""Which members of a team are right together, which alone, and what the team makes of it."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish
from analysis.charts.rows import Rows, short
from analysis.charts.style import FULL, HUMANS, INK, MODELS, SOFT
from analysis.charts.texts import quoted
from analysis.presentation import figure_text
from analysis.stats import NotEnough
from analysis.teams.figures.rows import NO_TEAM, TriedOn, main_method, of_panel, teams_by_method
from analysis.teams.figures.selection import KINDS, kind_of, left_out, shown_teams
from analysis.teams.names import MOST_NAMED, called
from analysis.teams.results import Complementarity, Method, TeamResult, TeamResults
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
MOST = 30
LONGEST = 22  # letters of a member's name
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
    teams = shown_teams(every, MOST)
    labels = _labels(teams)
    led = [r for r in teams if r.leader]
    frame = pd.concat([_frame(r, parts) for r in every], ignore_index=True)
    of_last = frame[frame["team"] == teams[-1].team.label]
    context = {
        "on": TriedOn.of(every),
        "is_simulated": is_simulated,
        "method": method,
        "is_intercept": method == Method.LOGISTIC,
        "are_pairs": bool(pairs),
        "every": every,
        "shown": teams,
        "left_out": left_out(teams, every, pairs=bool(pairs)),
        "n_right": sum(c.none_right.n_team_right for c in _all(teams)),
        "n_wrong": sum(c.all_right.n - c.all_right.n_team_right for c in _all(teams)),
        "led": led,
        "most_named": MOST_NAMED,
        "n_more_led": len(led) - MOST_NAMED,
        "last": teams[-1],
        "parts": of_last.to_dict("records"),
    }
    text = figure_text("teams_complementarity", context)
    drawn = _chart(frame[frame["team"].isin(labels)], teams, labels, parts)
    drawn = finish(drawn, text.alt)
    return Figure("teams_complementarity", text.title, text.caption, text.alt, frame, drawn)


def _all(teams: Sequence[TeamResult]) -> list[Complementarity]:
    return [r.complementarity for r in teams if r.complementarity]


def _labels(teams: Sequence[TeamResult]) -> dict[str, str]:
    """A label for each team, no two alike."""
    found: dict[str, str] = {}
    for result in teams:
        names = [short(m.display_name, LONGEST) for m in result.team.members]
        is_named = len(names) <= MOST_NAMED
        label = short(" + ".join(names), 2 * LONGEST + 6) if is_named else called(result.team)
        while label in found.values():
            label += "\N{NO-BREAK SPACE}"
        found[result.team.label] = label
    return found


def _frame(result: TeamResult, parts: Parts) -> pd.DataFrame:
    """A row per kind of trial, with the bar's ends: `start`, `until` of the team's being right, `end`."""
    tried = [getattr(result.complementarity, name) for name in parts]
    frame = pd.DataFrame(
        {
            "team": result.team.label,
            "display_name": result.team.display_name,
            "trials": [text for text, _ in parts.values()],
            "n": [t.n for t in tried],
            "n_team_right": [t.n_team_right for t in tried],
            "n_all": result.n_trials,
        }
    )
    end = frame["n"].cumsum() / frame["n_all"]
    start = end - frame["n"] / frame["n_all"]
    return frame.assign(start=start, until=start + frame["n_team_right"] / frame["n_all"], end=end)


def _chart(
    frame: pd.DataFrame,
    teams: Sequence[TeamResult],
    labels: dict[str, str],
    parts: Parts,
) -> Drawn:
    kinds = list(dict.fromkeys(kind_of(r) for r in teams))
    domain = [row for kind in kinds for row in [kind, *[labels[r.team.label] for r in teams if kind_of(r) == kind]]]  # fmt: skip
    rows = Rows(labels, domain, {kind: KINDS[kind] for kind in kinds})
    data = frame.assign(row=frame["team"].map(labels))
    axis = alt.Axis(
        title="Trials" if teams[0].is_judged else "Test cases", format=".0%", tickCount=5
    )
    scale = alt.Scale(domain=[0, 1])
    texts, colours = zip(*parts.values(), strict=True)
    legend = alt.Legend(title=None, symbolType="square")
    colour = alt.Color("trials:N", scale=alt.Scale(domain=texts, range=colours), legend=legend)
    shade = alt.Opacity(
        "team_is:N",
        scale=alt.Scale(domain=list(SHADES), range=list(SHADES.values())),
        legend=alt.Legend(
            title=None,
            symbolType="square",
            symbolFillColor=INK,
            symbolStrokeWidth=0,
            orient="bottom",
            offset=4,
        ),
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
    followed = chart(_followed(frame, labels, parts)).mark_text(align="left", dx=8)
    followed = followed.encode(x=alt.value("width"), y=rows.y(), text="text:N")
    head = alt.Chart(alt.InlineData(values=[{"text": "followed the right one"}]))
    head = head.mark_text(align="left", baseline="bottom", dx=8, color=SOFT)
    head = head.encode(x=alt.value("width"), y=alt.value(10), text="text:N")
    width = FULL - rows.width - 150
    return alt.layer(*bars, followed, head).properties(width=width, height=rows.height)


def _followed(frame: pd.DataFrame, labels: dict[str, str], parts: Parts) -> pd.DataFrame:
    """Of the trials where members disagree, on how many the team is right."""
    wanted = [text for name, (text, _) in parts.items() if name in DISAGREE]
    disagree = frame[frame["trials"].isin(wanted)]
    sums = disagree.groupby("team", sort=False)[["n", "n_team_right"]].sum()
    sums = sums[sums["n"] > 0]
    return pd.DataFrame(
        {
            "row": [labels[team] for team in sums.index],
            "text": [
                f"{percent(k / n, 0)} of {n:,}"
                for n, k in zip(sums["n"], sums["n_team_right"], strict=True)
            ],
        }
    )
