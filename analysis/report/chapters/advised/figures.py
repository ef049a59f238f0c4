"""Accuracy before and after advice, the flow of answers, reliance, and real decisions beside computed teams."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chance_and_people,
    chart,
    flag,
    note,
    own_colour,
    own_fill,
    own_stroke,
    points_axis,
    quarters,
    share_domain,
    share_x,
    spread,
    text_width,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import dots_with_intervals, labels
from analysis.charts.style import FULL, GAINED, HUMANS, INK, LINE, LOST, MODELS, ROW, SOFT
from analysis.codec import need, present
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.advised.results import Advised
from analysis.report.chapters.advised.tables import FINAL, FIRST, FLOW
from analysis.report.chapters.advised.words.accuracy import advised_figure
from analysis.report.chapters.advised.words.reliance import (
    advised_flow_figure,
    advised_reliance_figure,
)
from analysis.report.chapters.advised.words.teams import advised_teams_figure, decider_row
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.reliance.trials import NO_FIRST, Estimate
from analysis.teams.domain.advised import ADVISER

BEFORE_ADVICE, LAST = "before advice", "final answer"
SHAPES = alt.Scale(domain=[BEFORE_ADVICE, LAST], range=["diamond", "circle"])
BESIDE = 4  # px from a row's middle to its two intervals


def advised(source: SourceResults, tables: Tables) -> Figure:
    """A row per arm: accuracy of first and final answers, joined; a line at the adviser's."""
    own = need(source.of(Advised).advised_accuracy)
    answers = [
        {"condition": one.name, "answer": answer, **_numbers(found)}
        for one in own.conditions
        for answer, found in ((BEFORE_ADVICE, present(one.before)), (LAST, one.after))
        if found
    ]
    frame = pd.DataFrame(answers)

    shown = _shown([one.name for one in own.conditions])
    names, marks = list(shown.values()), frame.assign(condition=frame["condition"].map(shown))
    domain = share_domain([*marks["low"], *marks["high"], own.adviser.accuracy])
    y, width = _rows(names)
    x, data = share_x("accuracy", domain, "Correct answers"), chart(marks)
    ends = marks.groupby("condition", sort=False)["accuracy"].agg(["min", "max"]).reset_index()
    bar = chart(ends).mark_rule(color=LINE, strokeWidth=3, opacity=0.6)
    bar = bar.encode(x=alt.X("min:Q"), x2="max:Q", y=y)
    layers: list[Any] = chance_and_people(None, domain)
    # The adviser has a name where it would not be written over that of chance
    if abs(own.adviser.accuracy - 0.5) > 0.12 * (domain[1] - domain[0]):
        layers.append(flag(own.adviser.accuracy, "adviser", MODELS))
    layers += [upright(own.adviser.accuracy, colour=MODELS, width=0.8, dash=False), bar]
    is_one = marks.groupby("condition")["answer"].transform("size") == 1
    places = ((is_one, 0), (~is_one & (marks["answer"] == BEFORE_ADVICE), -BESIDE))
    for of, offset in (*places, (~is_one & (marks["answer"] == LAST), BESIDE)):
        rule = chart(marks[of]).mark_rule(strokeWidth=1.1, yOffset=offset)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=own_colour()))
    legend = alt.Legend(title=None, symbolFillColor=SOFT, symbolStrokeColor=SOFT)
    shape = alt.Shape("answer:N", scale=SHAPES, legend=legend)
    points = data.mark_point(size=60).encode(
        x=x, y=y, shape=shape, fill=own_fill(), stroke=own_stroke()
    )
    height = 2 * ROW * max(len(names), 2)
    drawn = alt.layer(*layers, points).properties(width=FULL - width - 30, height=height)
    return make_figure("advised", drawn, advised_figure(own), plain(frame))


def _numbers(found: Estimate) -> dict[str, Any]:
    low, high = found.ci95 or (np.nan, np.nan)
    return {"n": found.n, "accuracy": found.value, "low": low, "high": high, "colour": HUMANS}


def _rows(names: Sequence[str], **axis: Any) -> tuple[alt.Y, int]:
    """A row for each name, and how wide the names are."""
    width = text_width(names) + 8
    options = {"title": None, "minExtent": width, "maxExtent": width, "labelPadding": 6}
    y = alt.Y(
        f"{axis.pop('field', 'condition')}:N",
        sort=None,
        scale=alt.Scale(domain=list(names), paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(**{**options, **axis}),
    )
    return y, width


@dataclass(frozen=True)
class _Arm:
    name: str
    display_name: str = ""


def _shown(names: Sequence[str]) -> dict[str, str]:
    """Names of arms, short enough for a label and no two alike."""
    return labels([_Arm(name) for name in names])


# --- The flow of answers.

KEPT_RIGHT, TO_RIGHT, TO_WRONG, KEPT_WRONG = (
    "kept, right",
    "switched, right",
    "switched, wrong",
    "kept, wrong",
)
FATES = {KEPT_RIGHT: "#8fb3c7", TO_RIGHT: GAINED, TO_WRONG: LOST, KEPT_WRONG: "#d9c3b0"}
# Kept, right in the end
FATES_OF = {
    KEPT_RIGHT: (True, True),
    TO_RIGHT: (False, True),
    TO_WRONG: (False, False),
    KEPT_WRONG: (True, False),
}
STARTS = (
    (True, True, "first right, advice right"),
    (True, False, "first right, advice wrong"),
    (False, True, "first wrong, advice right"),
    (False, False, "first wrong, advice wrong"),
)


def advised_flow(source: SourceResults, tables: Tables) -> Figure:
    """A panel per arm with first answers: trials by first answer and advice, split by what became of them."""
    own = need(source.of(Advised).advised_reliance)
    found = [one for one in own.conditions if present(one.flow)]
    if not found:
        raise NotEnough(*NO_FIRST)
    # Parts of bars, in trials: from where to where
    rows = []
    for one, (first, advice, words) in product(found, STARTS):
        own_cells = {
            (cell.is_kept, cell.is_final_right): cell.n
            for cell in need(one.flow)
            if cell.is_first_right == first and cell.is_advice_right == advice
        }
        start = 0
        for fate, of in FATES_OF.items():
            n = own_cells.get(of, 0)
            part = {"fate": fate, "low": start, "end": start + n, "n": n}
            about = {"words": str(n) if n else "", "middle": start + n / 2}
            rows.append({"condition": one.name, "start_of": words, **part, **about})
            start += n
    frame = pd.DataFrame(rows)
    most = float(frame["end"].max())
    drawn = grid(
        [(one.name, f"n = {sum(cell.n for cell in need(one.flow)):,}") for one in found],
        lambda place: _flow_panel(frame, found[place.number].name, most, place),
        columns=columns_for(len(found), 3),
        left=text_width([words for *_, words in STARTS]) + 30,
        height=90,
    )
    cells = [(one.name, cell) for one in found for cell in need(one.flow)]
    return make_figure("advised_flow", drawn, advised_flow_figure(found), c.tidy(FLOW, cells))


def _flow_panel(frame: pd.DataFrame, name: str, most: float, place: Place) -> Drawn:
    own = frame[(frame["condition"] == name) & (frame["n"] > 0)]
    words = [words for *_, words in STARTS]
    width = text_width(words) + 8
    axis = {"minExtent": width, "maxExtent": width} if place.first else {"labels": False}
    y, _width = _rows(words, field="start_of", title=None, **axis)
    x = x_of(
        "low", [0, 1.02 * most], place.x_axis("Trials, by first answer and advice", tickCount=4)
    )
    colour = alt.Color(
        "fate:N",
        scale=alt.Scale(domain=list(FATES), range=list(FATES.values())),
        legend=alt.Legend(title=None, symbolType="square"),
    )
    data = chart(own)
    bars = data.mark_bar(height=20).encode(x=x, x2="end:Q", y=y, color=colour)
    wide = own[own["n"] >= 0.06 * most]
    is_dark = wide["fate"].isin([TO_RIGHT, TO_WRONG])
    texts = [
        chart(wide[of])
        .mark_text(fontSize=11, color=colour_of_text)
        .encode(x=alt.X("middle:Q"), y=y, text="words:N")
        for of, colour_of_text in ((is_dark, "white"), (~is_dark, INK))
    ]
    return alt.layer(bars, *texts)


# --- Reliance: how often wrong answers are corrected, and right ones kept.

SIDE = 300  # px of the square plane


def advised_reliance(source: SourceResults, tables: Tables) -> Figure:
    """A point per arm: relative self-reliance over relative AI reliance, both with intervals; up and right is appropriate."""
    own = need(source.of(Advised).advised_reliance)
    found = [
        (one, rsr, rair)
        for one in own.conditions
        if (rsr := present(one.rsr)) and (rair := present(one.rair))
    ]
    if not found:
        raise NotEnough(
            "No arm has both kinds of trials: a wrong first answer with right advice, and a right first answer with wrong advice.",
            "Choose advice after the first answer in an arm.",
        )
    frame = pd.DataFrame(
        [
            {
                "condition": one.name,
                "rsr": rsr.value,
                "rair": rair.value,
                "n_rsr": rsr.n,
                "n_rair": rair.n,
                **_ends("rsr", rsr.ci95),
                **_ends("rair", rair.ci95),
                "colour": HUMANS,
            }
            for one, rsr, rair in found
        ]
    )
    text = advised_reliance_figure(found)
    return make_figure("advised_reliance", _plane(frame), text, plain(frame))


def _ends(name: str, ci95: Interval | None) -> dict[str, float]:
    low, high = ci95 or (np.nan, np.nan)
    return {f"{name}_low": low, f"{name}_high": high}


def _plane(frame: pd.DataFrame) -> Drawn:
    frame = frame.assign(condition=frame["condition"].map(_shown(frame["condition"].tolist())))
    whole = [0.0, 1.0]
    ticks: dict[str, Any] = {"format": ".0%", "values": quarters(whole)}
    x = x_of("rsr", whole, alt.Axis(title="Right answers kept against wrong advice (RSR)", **ticks))
    y_axis = alt.Axis(title="Wrong answers corrected by right advice (RAIR)", grid=True, **ticks)
    y = y_of("rair", whole, y_axis)
    data = chart(frame)
    blind = alt.Chart(alt.InlineData(values=[{"x": 0, "y": 1}, {"x": 1, "y": 0}]))
    line = blind.mark_line(color=LINE, strokeDash=[4, 3], strokeWidth=1)
    across = data.mark_rule(strokeWidth=1.2).encode(
        x=alt.X("rsr_low:Q"), x2="rsr_high:Q", y=y, color=own_colour()
    )
    up = data.mark_rule(strokeWidth=1.2).encode(
        x=x, y=alt.Y("rair_low:Q"), y2="rair_high:Q", color=own_colour()
    )
    points = data.mark_point(size=70).encode(x=x, y=y, fill=own_fill(), stroke=own_stroke())
    # A name goes to the side that has room
    names = [
        chart(own).mark_text(align=side, baseline="bottom", dx=dx, dy=-5, color=SOFT)
        for side, dx, own in (
            ("left", 8, frame[frame["rsr"] < 0.5]),
            ("right", -8, frame[frame["rsr"] >= 0.5]),
        )
    ]
    corners = (
        note("always follows", 24, 4, align="left", baseline="top"),
        note("follows right advice only", SIDE - 4, 4, align="right", baseline="top"),
        note("never follows", SIDE - 24, SIDE - 4, align="right", baseline="bottom"),
    )
    return alt.layer(
        line.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        *corners,
        across,
        up,
        points,
        *(one.encode(x=x, y=y, text="condition:N") for one in names),
    ).properties(width=SIDE, height=SIDE)


# --- Real decisions beside computed teams.

COLOURS = {FIRST: HUMANS, FINAL: HUMANS, ADVISER: MODELS}


def advised_teams(source: SourceResults, tables: Tables) -> Figure:
    """Left, accuracy of who decides on the same trials; right, that of people after advice minus it."""
    own = need(source.of(Advised).advised_teams)
    rows = []
    for one in own.deciders:
        versus = one.versus_final
        row = {
            "row": decider_row(one.code),
            **_numbers(one.accuracy),
            "final_minus": versus.value if versus else np.nan,
            **_ends("final_minus", versus.ci95 if versus else None),
            "colour": COLOURS.get(one.code, GAINED),
        }
        rows.append(row)
    frame = pd.DataFrame(rows)

    names = frame["row"].tolist()
    y, names_width = _rows(names, field="row")
    width, height = (FULL - names_width - 64) // 2, int(1.5 * ROW * len(names))
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    left = alt.layer(*chance_and_people(None, domain), dots_with_intervals(chart(frame), x, y))
    others = frame[frame["final_minus"].notna()].rename(
        columns={"low": "own_low", "high": "own_high"}
    )
    others = others.rename(columns={"final_minus_low": "low", "final_minus_high": "high"})
    span = spread([*others["low"], *others["high"], *others["final_minus"]], must=[0])
    axis = points_axis("People after advice minus this decider")
    plain_y, _width = _rows(names, field="row", labels=False, minExtent=0, maxExtent=0)
    right = alt.layer(
        upright(0.0),
        flag(0.0, "no difference"),
        dots_with_intervals(chart(others), x_of("final_minus", span, axis), plain_y),
    )
    size = {"width": width, "height": height}
    drawn = alt.hconcat(left.properties(**size), right.properties(**size), spacing=16)
    text = advised_teams_figure(own)
    return make_figure("advised_teams", drawn, text, plain(frame, row="who"))
