"""Single test cases' traces: the difference of cumulative perplexities along a text, its alternations marked."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    intervals,
    level,
    own_colour,
    spread,
    wrapped,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, by_family, labels, rows_of
from analysis.charts.style import FULL, GAINED, INK, LINE, LOST, MARKED, family_colour
from analysis.codec import need
from analysis.presentation import FigureText, make_figure, plain
from analysis.report.chapter import SourceResults, Tables, need_table
from analysis.report.chapters.flips.results import (
    PATTERN,
    RATIO,
    SENTENCE,
    TOKEN,
    ChangesOfMind,
)
from analysis.report.chapters.flips.words import (
    flips_figure,
    traces_figure,
    trajectories_figure,
)
from analysis.stats import NotEnough
from analysis.stats.flips import PPL
from analysis.stats.traces import PATTERNS
from lib.formatting import known

NUMBER = {TOKEN: "Token of the original", SENTENCE: "Sentence"}
DIFFERENCE = "Difference of perplexity"
ORIGINAL, ALTERED = "favours the original", "favours the altered"
LEFT, TRACES_HEIGHT = 52, 130
LINEAR = 0.1  # differences below are drawn about linearly, those above by their logarithm


def flips_traces(source: SourceResults, tables: Tables) -> Figure:
    """A row per pattern; left by token, right by sentence, each with a test case that is typical of it."""
    typical = need(source.of(ChangesOfMind).flips).typical
    if not typical.examples:
        raise NotEnough("No test case shows any of the three patterns.", "Score more test cases.")
    frame = need_table(tables, "flips_traces")
    width = (FULL - 2 * LEFT - 40) // 2
    rows = []
    for pattern in PATTERNS:
        panels = []
        for example in typical.examples:
            if example.pattern != pattern:
                continue
            own = frame[(frame["level"] == example.level) & (frame["pattern"] == pattern)]
            title = alt.TitleParams(
                wrapped(PATTERN[pattern], 60),
                subtitle=wrapped(example.item, 50).split("\n"),
                color=INK,
                fontSize=11,
                anchor="start",
                frame="group",
                subtitleColor=INK,
            )
            panels.append(trace_panel(own, example.level, width).properties(title=title))
        if panels:
            rows.append(alt.hconcat(*panels, spacing=24))
    drawn = alt.vconcat(*rows, spacing=22).resolve_scale(y="independent")
    text = traces_figure(typical, has_sentences=SENTENCE in set(frame["level"]))
    return make_figure("flips_traces", drawn, text, frame)


def trace_panel(frame: pd.DataFrame, name: str, width: int, height: int = TRACES_HEIGHT) -> Drawn:
    """One trace; `name` is token or sentence. Logarithmic in both directions but near 0, where it is linear."""
    n = int(frame["number"].max())
    axis = alt.Axis(title=NUMBER[name], tickCount=min(n, 8), tickMinStep=1, format="d")
    x = x_of("number", [0.5, n + 0.5], axis)
    # 0 and powers of ten, of each sign that occurs
    low, high = float(frame[PPL].min()), float(frame[PPL].max())
    first = 0 if max(-low, high) >= 1 else -2
    powers = [float(f"1e{k}") for k in range(first, 9)]
    ticks = [*(-p for p in powers if p <= -low), 0.0, *(p for p in powers if p <= high)]
    axis = alt.Axis(
        title=DIFFERENCE,
        grid=True,
        minExtent=LEFT,
        maxExtent=LEFT,
        values=ticks,
        format=",~f",
    )
    y = alt.Y(f"{PPL}:Q", scale=alt.Scale(type="symlog", constant=LINEAR, nice=False), axis=axis)
    known = frame[frame[PPL].notna()].reset_index(names="order")
    line = chart(known).mark_line(color=LINE, strokeWidth=1.4).encode(x=x, y=y, order="order:Q")
    some = known[known[PPL] != 0]
    sides = [ORIGINAL, ALTERED]
    own = chart(some.assign(side=[sides[d < 0] for d in some[PPL]]))
    legend = alt.Legend(title=None)
    dots = own.mark_point(size=14 if name == TOKEN else 40).encode(
        x=x,
        y=y,
        color=alt.Color(
            "side:N", scale=alt.Scale(domain=sides, range=[GAINED, LOST]), legend=legend
        ),
        shape=alt.Shape(
            "side:N", scale=alt.Scale(domain=sides, range=["circle", "square"]), legend=legend
        ),
    )
    # Neighbouring tokens, or sentences, of an alternation as one band
    marked = frame.loc[frame["in_alternation"], "number"].drop_duplicates()
    runs = marked.groupby((marked.diff() != 1).cumsum()).agg(["min", "max"])
    ends = pd.DataFrame({"from": runs["min"] - 0.5, "to": runs["max"] + 0.5})
    band = chart(ends).mark_rect(color=MARKED)
    bands = band.encode(x=alt.X("from:Q", scale=x["scale"]), x2="to:Q")
    return alt.layer(bands, level(0.0, colour=INK), line, dots).properties(
        width=width, height=height
    )


# --- Whether a model's preference changes sides on the way through a text, by token and by sentence.

FAVOURS = "Version favoured by the difference"
BOTH_ORIGINAL = "original first and last"
CATEGORIES = {
    "PosPos": BOTH_ORIGINAL,
    "NegPos": "altered first, original last",
    "PosNeg": "original first, altered last",
    "NegNeg": "altered first and last",
}
FLIPS_COLOURS = [GAINED, "#8fc1e3", "#f3b98c", LOST]
LEVELS = {
    TOKEN: "By token",
    SENTENCE: "By sentence",
    RATIO: "By token, log-likelihood ratio (additional measure)",
}
CORRECT, WRONG = "decision right", "decision wrong"
MEASURES = ["measure", "category", "n", "value", "low", "high"]


def flips(source: SourceResults, tables: Tables) -> Figure:
    """Left, shares of test cases by first and last sign; right, mean number of changes with 95% intervals."""
    models = need(source.of(ChangesOfMind).flips).models
    rows = rows_of(models)
    levels = [level for level in LEVELS if any(level in m.levels for m in models)]
    frames = []
    for m, by in product(models, levels):
        if (found := m.levels.get(by)) is None:
            continue
        marks: list[dict[str, Any]] = [
            {"measure": "share", "category": text, "n": n, "value": n / found.n_items}
            for name, text in CATEGORIES.items()
            for n in [getattr(found.counts, name)]
        ]
        means = ((CORRECT, found.sign_flips.correct), (WRONG, found.sign_flips.wrong))
        for category, mean in means:
            if mean is not None:
                low, high = mean.ci95 or (None, None)
                row = {"n": mean.n, "value": mean.mean, "low": low, "high": high}
                marks.append({"measure": "changes", "category": category, **row})
        colour = family_colour(m.family)
        own = pd.DataFrame(marks, columns=MEASURES).assign(**m.named, level=by)
        frames.append(own.assign(row=rows.label[m.name], colour=colour))
    frame = pd.concat(frames)
    shares = frame[frame["measure"] == "share"]
    changes = frame[frame["measure"] == "changes"]
    blocks = [_block(shares, changes, rows, k, keys=k == levels[0]) for k in levels]
    both = shares[(shares["category"] == BOTH_ORIGINAL) & (shares["level"] == TOKEN)]
    text = flips_figure(models, both["value"].mean())
    return make_figure("flips", alt.vconcat(*blocks, spacing=20), text, plain(frame))


def _block(
    shares: pd.DataFrame, changes: pd.DataFrame, rows: Rows, level: str, *, keys: bool
) -> Drawn:
    width = (FULL - rows.width - 60) // 2
    some = shares[shares["level"] == level]
    title = alt.TitleParams(
        LEVELS[level], color=INK, fontSize=11, anchor="start", frame="group", dx=-rows.width
    )
    left = _bars(some, rows, keys).properties(width=width, height=rows.height, title=title)
    low, high = spread([*changes["low"], *changes["high"], *changes["value"]], must=[0])
    domain = (max(low, 0.0), high)  # of all levels: panels compare
    own = changes[changes["level"] == level]
    y = rows.y(labels=False, minExtent=0, maxExtent=0)
    axis = alt.Axis(title="Changes of sign per test case", tickCount=5)
    x = x_of("value", domain, axis, clamp=True)
    shape = alt.Shape(
        "category:N",
        scale=alt.Scale(domain=[CORRECT, WRONG], range=["circle", "cross"]),
        legend=alt.Legend(title=None, columns=1, symbolFillColor=INK, symbolStrokeWidth=0)
        if keys
        else None,
    )
    layers: list[alt.Chart] = []
    for category, shift in ((CORRECT, -3), (WRONG, 3)):
        data = chart(own[own["category"] == category])
        rule = intervals(data, y, strokeWidth=1.1, yOffset=shift)
        dots = data.mark_point(size=34, yOffset=shift)
        layers += [rule, dots.encode(x=x, y=y, color=own_colour(), shape=shape)]
    right = alt.layer(*layers).properties(width=width, height=rows.height)
    return alt.hconcat(left, right, spacing=24).resolve_scale(
        color="independent", shape="independent"
    )


def _bars(shares: pd.DataFrame, rows: Rows, keys: bool) -> Drawn:
    # Stacked here, so that the table and the bars cannot disagree
    end = shares.groupby("row", sort=False)["value"].cumsum()
    colour = alt.Color(
        "category:N",
        scale=alt.Scale(domain=[*CATEGORIES.values()], range=FLIPS_COLOURS),
        legend=alt.Legend(title=FAVOURS, titleOrient="top", columns=2, symbolType="square")
        if keys
        else None,
    )
    return (
        chart(shares.assign(start=end - shares["value"], end=end))
        .mark_bar(height={"band": 0.72})
        .encode(
            x=alt.X(
                "start:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title="Test cases", format=".0%", tickCount=5),
            ),
            x2="end:Q",
            y=rows.y(),
            color=colour,
        )
    )


# --- How a model's preference grows along the texts: the running log-likelihood ratio, right and wrong decisions apart.

DECISIONS = {"right": "decision right", "wrong": "decision wrong"}
TRAJECTORIES_COLOURS = alt.Scale(domain=list(DECISIONS.values()), range=[GAINED, LOST])


def flips_trajectories(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: median and quartiles over test cases of the running log-likelihood ratio at 21 places of the text."""
    own = need(source.of(ChangesOfMind).flips)
    frame = need_table(tables, "flips_trajectories")
    drawn_names = set(frame["name"])
    models = by_family([m for m in own.models if m.name in drawn_names])
    names = labels(models)
    shown = frame.assign(kind=frame["decision"].map(DECISIONS))
    ends = spread([*frame["q1_nats"], *frame["q3_nats"]], must=[0])

    def draw(place: Place) -> Drawn:
        axis = place.x_axis("Share of the text", format=".0%", tickCount=2)
        x = x_of("place", [0, 1], axis)
        y = y_of("median_nats", ends, place.y_axis("Ratio, nats", 40, tickCount=4))
        data = chart(shown[shown["name"] == models[place.number].name])
        legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2, symbolOpacity=1)
        colour = alt.Color("kind:N", scale=TRAJECTORIES_COLOURS, legend=legend)
        band = data.mark_area(opacity=0.18).encode(
            x=x, y=alt.Y("q1_nats:Q"), y2="q3_nats:Q", color=colour
        )
        line = data.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
        return alt.layer(level(0.0, colour=INK), band, line)

    titles = []
    for model in models:
        decided = frame[frame["name"] == model.name].groupby("decision", sort=False)
        counts = ", ".join(
            f"{n:,} {decision}" for decision, n in decided["n_items"].first().items()
        )
        titles.append((names[model.name], counts))
    drawn = grid(titles, draw, columns=columns_for(len(models), 4), left=60, height=120)
    drawn = drawn.resolve_scale(color="shared")
    last = frame[frame["place"] == 1].groupby("decision", sort=False)["median_nats"].mean()
    right, wrong = (known(end) for end in last.reindex(list(DECISIONS)))
    text = trajectories_figure(models, right, wrong)
    return make_figure("flips_trajectories", drawn, text, frame)


# --- The traces of any one test case as a picture.

ITEM_TRACE_HEIGHT = 190


def item_trace(text: FigureText, traces: Mapping[str, pd.DataFrame]) -> Figure:
    """By token, and below it by sentence."""
    panels = [
        trace_panel(frame, name, FULL - LEFT - 60, ITEM_TRACE_HEIGHT)
        for name, frame in traces.items()
    ]
    table = pd.concat([frame.assign(level=name) for name, frame in traces.items()])
    return make_figure("item_trace", alt.vconcat(*panels, spacing=16), text, table)
