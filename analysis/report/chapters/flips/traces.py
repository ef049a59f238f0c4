"""Single test cases' traces: the difference of cumulative perplexities along a text, its alternations marked."""

import altair as alt
import pandas as pd
from django.utils.translation import gettext_lazy as _

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, level, wrapped
from analysis.charts.style import FULL, GAINED, INK, LINE, LOST, MARKED
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import SourceResults, Tables, need_table
from analysis.report.chapters.flips.courses import PATTERN, SENTENCE, TOKEN
from analysis.report.chapters.flips.results import ChangesOfMind, Example
from analysis.stats import NotEnough
from analysis.stats.flips import PPL
from analysis.stats.traces import PATTERNS

NUMBER = {TOKEN: _("Token of the original"), SENTENCE: _("Sentence")}
DIFFERENCE = _("Difference of perplexity")
ORIGINAL, ALTERED = _("favours the original"), _("favours the altered")
LEFT, HEIGHT = 52, 130
LINEAR = 0.1  # differences below are drawn about linearly, those above by their logarithm


def flips_traces(source: SourceResults, tables: Tables) -> Figure:
    """A row per pattern; left by token, right by sentence, each with a test case that is typical of it."""
    typical = need(source.of(ChangesOfMind).flips).typical
    if not typical.examples:
        raise NotEnough("No test case shows one of the three patterns.", "Score more test cases.")
    frame = need_table(tables, "flips_traces")
    levels = [name for name in (TOKEN, SENTENCE) if name in set(frame["level"])]
    width = (FULL - 2 * LEFT - 40) // 2
    rows = []
    for pattern in PATTERNS:
        own = [e for e in typical.examples if e.pattern == pattern]
        panels = [_titled(frame, example, width) for example in own]
        if panels:
            rows.append(alt.hconcat(*panels, spacing=24))
    context = {
        "model": typical.label,
        "examples": [
            {"pattern": PATTERN[e.pattern], "level": e.level, "item": e.item, "n": e.n_items}
            for e in typical.examples
        ],
        "has_sentences": SENTENCE in levels,
    }
    text = figure_text("flips_traces", context)
    drawn = finish(alt.vconcat(*rows, spacing=22).resolve_scale(y="independent"), text.alt)
    return Figure("flips_traces", text.title, text.caption, text.alt, frame, drawn)


def trace_panel(frame: pd.DataFrame, name: str, width: int, height: int = HEIGHT) -> Drawn:
    """One trace; `name` is token or sentence. Logarithmic in both directions but near 0, where it is linear."""
    n = int(frame["number"].max())
    within = alt.Scale(domain=[0.5, n + 0.5], nice=False, zero=False)
    x = alt.X(
        "number:Q",
        scale=within,
        axis=alt.Axis(title=str(NUMBER[name]), tickCount=min(n, 8), tickMinStep=1, format="d"),
    )
    axis = alt.Axis(
        title=str(DIFFERENCE),
        grid=True,
        minExtent=LEFT,
        maxExtent=LEFT,
        values=_ticks(frame),
        format=",~f",
    )
    y = alt.Y(f"{PPL}:Q", scale=alt.Scale(type="symlog", constant=LINEAR, nice=False), axis=axis)
    known = frame[frame[PPL].notna()].reset_index(names="order")
    line = chart(known).mark_line(color=LINE, strokeWidth=1.4).encode(x=x, y=y, order="order:Q")
    some = known[known[PPL] != 0]
    sides = [str(ORIGINAL), str(ALTERED)]
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
    return alt.layer(_bands(frame, within), level(0.0, colour=INK), line, dots).properties(
        width=width, height=height
    )


def _titled(frame: pd.DataFrame, example: Example, width: int) -> Drawn:
    own = frame[(frame["level"] == example.level) & (frame["pattern"] == example.pattern)]
    title = alt.TitleParams(
        wrapped(str(PATTERN[example.pattern]), 60),
        subtitle=wrapped(example.item, 50).split("\n"),
        color=INK,
        fontSize=11,
        anchor="start",
        frame="group",
        subtitleColor=INK,
    )
    return trace_panel(own, example.level, width).properties(title=title)


def _bands(frame: pd.DataFrame, scale: alt.Scale) -> Drawn:
    """Neighbouring tokens, or sentences, of an alternation as one band."""
    marked = frame.loc[frame["in_alternation"], "number"].drop_duplicates()
    runs = marked.groupby((marked.diff() != 1).cumsum()).agg(["min", "max"])
    bands = pd.DataFrame({"from": runs["min"] - 0.5, "to": runs["max"] + 0.5})
    band = chart(bands).mark_rect(color=MARKED)
    return band.encode(x=alt.X("from:Q", scale=scale), x2="to:Q")


def _ticks(frame: pd.DataFrame) -> list[float]:
    """0 and powers of ten, of each sign that occurs."""
    low, high = float(frame[PPL].min()), float(frame[PPL].max())
    first = 0 if max(-low, high) >= 1 else -2
    powers = [float(f"1e{k}") for k in range(first, 9)]
    return [*(-p for p in powers if p <= -low), 0.0, *(p for p in powers if p <= high)]
