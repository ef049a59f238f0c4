"""How many people and judgments there were from the first visit to the analysis, as a flow diagram (CONSORT)."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis import columns as c
from analysis.charts.figure import Figure
from analysis.charts.marks import (
    Drawn,
    bars,
    chart,
    count_axis,
    flag,
    log_scale,
    upright,
    wrapped,
    x_of,
    y_of,
)
from analysis.charts.style import FULL, HALF, INK, LINE
from analysis.codec import need
from analysis.data.dataset import Exclusion
from analysis.presentation import make_figure
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.participants.results.flow import (
    STEPS,
    Code,
    Flow,
    ParticipantFlow,
    Step,
    TrialFlow,
)
from analysis.report.chapters.participants.results.trials import ItemExposures, ReactionTimes
from analysis.report.chapters.participants.words import (
    SHOWN_FIRST,
    exposures_figure,
    flow_figure,
    reaction_times_figure,
)
from lib.formatting import number

LOST = (Code.EXCLUDED, Code.WITHOUT_TRIALS)
BOX, SIDE, GAP, PAD, LETTERS = 190, 200, 22, 8, 36  # px; letters of a line in a box at the side
LINE_PX = 15
HEADS: tuple[tuple[bool, str, dict[str, Any]], ...] = (
    (True, "triangle-right", {"xOffset": -4}),
    (False, "triangle-down", {"yOffset": -4}),
)
Box = dict[str, Any]


Line = tuple[str, int]  # of the text in a box, and by how many px it is indented


def flow(source: SourceResults, tables: Tables) -> Figure:
    """Boxes from top to bottom; who left on the way at the side of the arrow where they left; judgments below."""
    own = need(source.of(Flow).flow)
    boxes, arrows, height = _layout(own)
    x, y = x_of("x", [0, FULL - 10], None), y_of("y", [height + 2, -2], None)
    lines = chart(pd.DataFrame(arrows, columns=["x", "x2", "y", "y2", "side"]))
    shafts = lines.mark_rule(color=LINE, strokeWidth=1.2).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    heads = [
        lines.transform_filter(f"datum.side === {str(side).lower()}")
        .mark_point(shape=shape, color=LINE, size=46, **move)  # the tip at the line's end
        .encode(x=alt.X("x2:Q", axis=None), y=alt.Y("y2:Q", axis=None))
        for side, shape, move in HEADS
    ]
    rects = chart(pd.DataFrame(boxes).drop(columns="lines"))
    rects = rects.mark_rect(fill="white", stroke=LINE, strokeWidth=1.2)
    rects = rects.encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    text = pd.DataFrame(
        [
            {
                "x": box["x"] + 10 + indent,
                "y": box["y"] + PAD + n * LINE_PX,
                "text": line,
                "weight": "bold" if n == 0 and box["bold"] else "normal",
            }
            for box in boxes
            for n, (line, indent) in enumerate(box["lines"])
        ]
    )
    words = [
        chart(text[text["weight"] == weight])
        .mark_text(align="left", baseline="top", fontWeight=weight)
        .encode(x=x, y=y, text="text:N")
        for weight in ("bold", "normal")
    ]
    drawn = alt.layer(shafts, *heads, rects, *words)
    drawn = drawn.properties(width=FULL - 10, height=height + 4)
    parts = [("people", own.steps), ("judgments", own.trials.steps)]
    parts += [("answers", own.answers.steps)] if own.answers.judged else []
    frames = [c.tidy(STEPS, steps).assign(of=of) for of, steps in parts]
    table = pd.concat(frames, ignore_index=True)[["of", "code", "reason", "label", "n"]]
    return make_figure("flow", drawn, flow_figure(own), table)


def _layout(own: ParticipantFlow) -> tuple[list[Box], list[Box], float]:
    """Boxes and arrows in px, and the height of all."""
    steps = own.steps
    main = [s for code in (*SHOWN_FIRST, Code.ANALYSED) for s in steps if s.code is code]
    boxes: list[Box] = []
    arrows: list[Box] = []
    top = 0.0
    for n, step in enumerate(main):
        box = _box(0, top, BOX, _counted(step.label, step.n), bold=True)
        boxes.append(box)
        bottom = box["y2"]
        if n + 1 == len(main):
            break
        # Those who left between the two steps; before the analysis, by reason
        after, lost, lines = main[n + 1], step.n - main[n + 1].n, []
        if after.code is Code.ANALYSED:
            why = [s for s in steps if s.code in LOST and s.n]
            # Of those who finished, everybody has a reason: the others withdrew since
            since = lost - sum(s.n for s in why) if step.code is Code.FINISHED else 0
            if since > 0:
                why.append(Step(Code.WITHDRAWN, "", "withdrew after finishing", since))
            lost = sum(s.n for s in why) or lost
            lines = _reasons("Not analysed", lost, why, LETTERS + 6) if lost > 0 else []
        elif lost > 0:
            lines = _reasons("Did not continue", lost, (), LETTERS)
        gap = GAP
        if lines:
            side = _box(BOX / 2 + 36, bottom + 10, SIDE + 60, lines, bold=False)
            boxes.append(side)
            middle = (side["y"] + side["y2"]) / 2
            arrows.append({"x": BOX / 2, "x2": side["x"], "y": middle, "y2": middle, "side": True})
            gap = side["y2"] + 10 - bottom
        arrows.append({"x": BOX / 2, "x2": BOX / 2, "y": bottom, "y2": bottom + gap, "side": False})
        top = bottom + gap
    end, top = max(box["y2"] for box in boxes), 0.0
    for name, trials in (("Judgments", own.trials), ("Answers", own.answers)):
        if trials.judged:
            bottom = _trials(name, trials, top, boxes, arrows)
            end, top = max(end, bottom), bottom + GAP
    return boxes, arrows, end


def _trials(name: str, trials: TrialFlow, top: float, boxes: list[Box], arrows: list[Box]) -> float:
    """The short flow of judgments, or of answers, at the right; where it ends."""
    left = BOX / 2 + 36 + SIDE + 60 + 40
    width = FULL - left - 14
    out = trials.excluded
    down, gap = left + 12, float(GAP)  # where the arrow goes down, how far
    first = _box(left, top, width, _counted(name, trials.judged), bold=True)
    top = first["y2"]
    boxes.append(first)
    if out:
        lines = _reasons("Excluded", sum(r.n for r in out), out, 32)
        side = _box(down + 30, top + 10, width - 42, lines, bold=False)
        boxes.append(side)
        middle = (side["y"] + side["y2"]) / 2
        arrows.append({"x": down, "x2": side["x"], "y": middle, "y2": middle, "side": True})
        gap = side["y2"] + 10 - top
    arrows.append({"x": down, "x2": down, "y": top, "y2": top + gap, "side": False})
    last = _box(left, top + gap, width, _counted(f"{name} analysed", trials.analysed), bold=True)
    boxes.append(last)
    return float(last["y2"])


def _counted(label: str, n: int) -> list[Line]:
    return [(label, 0), (f"n = {number(n, 0)}", 0)]


def _reasons(head: str, n: int, why: Sequence[Step | Exclusion], letters: int) -> list[Line]:
    lines = [(f"{head}: {number(n, 0)}", 0)]
    for reason in why:
        text = wrapped(f"{reason.label}: {number(reason.n, 0)}", letters)
        lines += [(line, 10) for line in text.split("\n")]
    return lines


def _box(left: float, top: float, width: float, lines: list[Line], *, bold: bool) -> Box:
    return {
        "x": left,
        "x2": left + width,
        "y": top,
        "y2": top + len(lines) * LINE_PX + 2 * PAD - 3,
        "lines": lines,
        "bold": bold,
    }


# --- How often each test case was judged.


def exposures(source: SourceResults, tables: Tables) -> Figure:
    """Bars: how many test cases were judged once, twice, and so on; the mean as a line."""
    own = need(source.of(ItemExposures).exposures)
    histogram = pd.DataFrame(own.histogram, columns=["n", "items"])
    edges = histogram.assign(low=histogram["n"] - 0.5, high=histogram["n"] + 0.5)
    low, high = float(edges["low"].min()), float(edges["high"].max())
    axis = alt.Axis(title="Judgments", tickMinStep=1, format="d", grid=False, tickCount=10)
    drawn: Drawn = alt.layer(
        bars(
            edges, x_of("low", [low, high], axis), alt.Y("items:Q", axis=count_axis("Test cases"))
        ),
        upright(own.mean, colour=INK),
        flag(own.mean, f"mean {number(own.mean)}", INK),
    ).properties(width=HALF - 52, height=180)
    return make_figure("exposures", drawn, exposures_figure(own), histogram)


# --- How long people took for a judgment, on a logarithmic axis.

TICKS = [0.1, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600, 7200, 36000]
# Seconds as people say them
TICK_TEXT = "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 + ' min' : datum.value / 3600 + ' h'"


def reaction_times(source: SourceResults, tables: Tables) -> Figure:
    """Bars over equal steps of log time; the median as a line."""
    own = need(source.of(ReactionTimes).reaction_times)
    frame = pd.DataFrame(own.histogram, columns=["low_s", "high_s", "n"])
    # Empty bins at both ends are not drawn
    edges = frame.rename(columns={"low_s": "low", "high_s": "high"})
    edges = edges[edges["n"].cumsum().gt(0) & edges["n"][::-1].cumsum()[::-1].gt(0)]
    low, high = float(edges["low"].min()), float(edges["high"].max())
    axis = alt.Axis(
        title="Time, logarithmic",
        values=[t for t in TICKS if low <= t <= high],
        labelExpr=TICK_TEXT,
        labelOverlap="greedy",
    )
    x, median_s = alt.X("low:Q", scale=log_scale([low, high]), axis=axis), own.quartiles[1] / 1000
    drawn: Drawn = alt.layer(
        bars(edges, x, alt.Y("n:Q", axis=count_axis("Judgments"))),
        upright(median_s, colour=INK),
        flag(median_s, f"median {number(median_s, 0)} s", INK),
    ).properties(width=HALF - 56, height=180)
    return make_figure("reaction_times", drawn, reaction_times_figure(own), frame)
