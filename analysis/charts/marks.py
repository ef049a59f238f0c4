"""Pieces of charts: data, axes, dots with intervals, lines that mean something."""

import re
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from altair.typing import ChartType

from analysis.charts.style import HUMANS, LINE, SOFT, config

CHANCE = 0.5
Drawn = Any  # a chart: in Altair's own types those of layers and properties do not fit together


def chart(frame: pd.DataFrame) -> Drawn:
    """A chart of the table's rows. They stay a table until it is saved, as Altair copies everything else at each step."""
    rows = frame.reset_index(drop=True)
    for column in rows.select_dtypes("datetime"):
        rows[column] = rows[column].dt.strftime("%Y-%m-%d")
    return alt.Chart(rows)


def finish(drawn: ChartType, alt_text: str = "") -> ChartType:
    """The chart in the house style."""
    words: dict[str, Any] = {"config": config()}
    if alt_text:
        words["description"] = alt_text
    return drawn.properties(**words)


def spread(
    values: Sequence[float | None], *, must: Sequence[float] = (), pad: float = 0.04
) -> tuple[float, float]:
    """The span of all numbers that are there and those that must be within, a little wider."""
    known = [float(v) for v in (*values, *must) if v is not None and np.isfinite(v)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    margin = pad * ((high - low) or abs(high) or 1.0)
    return low - margin, high + margin


def share_domain(values: Sequence[float | None], must: Sequence[float] = (CHANCE,)) -> list[float]:
    """Where an axis of shares begins and ends: on tens of percent, chance always within, never beyond 0 and 1.

    >>> share_domain([0.62, 0.88])
    [0.48, 0.9]
    """
    low, high = spread(values, must=must, pad=0.0)
    first = np.floor(low * 10 + 1e-9) / 10
    return [
        float(round(first - 0.02, 2) if first > 0 else 0.0),  # so that nothing sits on the edge
        float(min(1.0, np.ceil(high * 10 - 1e-9) / 10)),
    ]


def share_axis(title: str, **more: Any) -> alt.Axis:
    """An axis in percent, five ticks or so."""
    return alt.Axis(title=title, format=".0%", tickCount=5, **more)


def x_of(field: str, domain: Sequence[float], axis: alt.Axis | None, **scale: Any) -> alt.X:
    """A horizontal axis of numbers that begins and ends there."""
    return alt.X(f"{field}:Q", scale=_between(domain, **scale), axis=axis)


def y_of(field: str, domain: Sequence[float], axis: alt.Axis | None, **scale: Any) -> alt.Y:
    """The same, vertical."""
    return alt.Y(f"{field}:Q", scale=_between(domain, **scale), axis=axis)


def _between(domain: Sequence[float], **more: Any) -> alt.Scale:
    return alt.Scale(domain=list(domain), **{"nice": False, "zero": False, **more})


def log_scale(domain: Sequence[float]) -> alt.Scale:
    return alt.Scale(type="log", domain=list(domain), nice=False)


def share_x(field: str, domain: Sequence[float], title: str) -> alt.X:
    """A horizontal axis of shares with these ends, see `share_domain`."""
    return x_of(field, domain, share_axis(title))


def share_y(field: str, domain: Sequence[float], title: str) -> alt.Y:
    """The same, vertical, with grid lines."""
    return y_of(field, domain, share_axis(title, grid=True))


def points_axis(title: str, **more: Any) -> alt.Axis:
    """For differences of shares: ticks in percentage points with their sign, as the title says."""
    signed = "datum.value === 0 ? '0' : format(100 * datum.value, '+.3~g')"
    return alt.Axis(
        title=f"{title}, percentage points", labelExpr=signed, **{"tickCount": 5, **more}
    )


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers within a logarithmic axis: as few per decade as give it at least three.

    >>> log_ticks(0.3, 900), log_ticks(0.29, 1.0)
    ([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0], [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    """
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    found: list[float] = []
    for steps in ((1, 3), (1, 2, 5), range(1, 10)):
        every = [float(f"{step}e{decade}") for decade in decades for step in steps]
        found = [t for t in every if low <= t <= high]
        if len(found) >= 3:
            break
    return found


def quarters(domain: Sequence[float]) -> list[float]:
    """Ticks for narrow axes of shares.

    >>> quarters([0.48, 1])
    [0.5, 0.75, 1.0]
    """
    return [t for t in (0.0, 0.25, 0.5, 0.75, 1.0) if domain[0] <= t <= domain[1]]


def upright(x: float, *, dash: bool = True, colour: str = LINE, width: float = 1.0) -> Drawn:
    """A vertical line at `x`."""
    line = alt.Chart(alt.InlineData(values=[{"at": x}])).mark_rule(
        color=colour, strokeDash=[4, 3] if dash else [1, 0], strokeWidth=width
    )
    return line.encode(x=alt.X("at:Q"))


def level(y: float, *, dash: bool = True, colour: str = LINE, width: float = 1.0) -> Drawn:
    """A horizontal line at `y`."""
    line = alt.Chart(alt.InlineData(values=[{"at": y}])).mark_rule(
        color=colour, strokeDash=[4, 3] if dash else [1, 0], strokeWidth=width
    )
    return line.encode(y=alt.Y("at:Q"))


def flag(x: float, text: str, colour: str = SOFT, align: Any = "center") -> Drawn:
    """A word above the plot, over a vertical line at `x`."""
    return (
        alt.Chart(alt.InlineData(values=[{"at": x, "text": text}]))
        .mark_text(align=align, baseline="bottom", color=colour, fontSize=11)
        .encode(x=alt.X("at:Q"), y=alt.value(-4), text="text:N")
    )


def note(text: str, x: Any, y: Any, colour: str = SOFT, **mark: Any) -> Drawn:
    """Words at a place of the plot, in px or "width"."""
    words = alt.Chart(alt.InlineData(values=[{"text": text}])).mark_text(color=colour, **mark)
    return words.encode(x=alt.value(x), y=alt.value(y), text="text:N")


def chance_and_people(
    people: float | None, domain: Sequence[float], words: str = "people", apart: float = 0.12
) -> list[Drawn]:
    """Lines at chance and at people's accuracy, their names above where these would not meet."""
    layers = [upright(CHANCE), flag(CHANCE, "chance")]
    if people is not None:
        layers.append(upright(people, colour=HUMANS, width=0.8, dash=False))
        if abs(people - CHANCE) > apart * (domain[1] - domain[0]):
            layers.append(flag(people, words, HUMANS))
    return layers


def intervals(data: Drawn, y: alt.Y, colour: alt.Color | None = None, **mark: Any) -> Drawn:
    """Horizontal lines from `low` to `high`, in the colour that the row names if no other is given."""
    ends = {"x": alt.X("low:Q"), "x2": "high:Q"}
    return data.mark_rule(**mark).encode(**ends, y=y, color=colour or own_colour())


def own_colour() -> alt.Color:
    """The colour that the row names."""
    return alt.Color("colour:N", scale=None, legend=None)


def dots(data: Drawn, **mark: Any) -> Drawn:
    """Points in the colour that the row names, hollow where the row says `is_chat`."""
    # A condition in the encoding would empty the symbols of a legend
    with_fill = data.transform_calculate(fill="datum.is_chat === true ? 'white' : datum.colour")
    return with_fill.mark_point(**{"strokeWidth": 1.4, **mark}).encode(
        fill=alt.Fill("fill:N", scale=None, legend=None), stroke=own_stroke()
    )


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most `width` letters, broken at blanks, hyphens, underscores and strokes if it can be.

    >>> wrapped("Llama-2-7B (chat)", 10).split(chr(10))
    ['Llama-2-7B', '(chat)']
    >>> wrapped("extraordinary", 8).split(chr(10))
    ['extraord', 'inary']
    """
    pieces = []
    for word in text.split(" "):
        parts = re.findall(r"[^/_]+[/_]*|[/_]+", f"{word} ")
        if max(len(p.rstrip()) for p in parts) > width:
            parts = [q for p in parts for q in re.findall(r"[^-]+-*|-+", p)]
        pieces += [p[k : k + width] for p in parts for k in range(0, len(p.rstrip()) or 1, width)]
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


NARROW, WIDE = "iljtfI.,:;|!'()[]/ -", "mwMW%@"  # letters


def text_width(texts: Sequence[str], size: float = 11) -> int:
    """About how many px the widest text takes: letters of Arial are half an em wide on average, capitals more."""
    ems = (
        sum(0.31 if c in NARROW else 0.72 if c.isupper() or c in WIDE else 0.55 for c in text)
        for text in texts
    )
    return max((int(one * size) + 1 for one in ems), default=0)


def own_fill() -> alt.Fill:
    return alt.Fill("colour:N", scale=None, legend=None)


def own_stroke() -> alt.Stroke:
    return alt.Stroke("colour:N", scale=None, legend=None)


def bars(frame: pd.DataFrame, x: alt.X, y: alt.Y, colour: str = HUMANS, **more: Any) -> Drawn:
    """Bars from column `low` to `high`, as tall as `y` says, with a thin white line between them."""
    return (
        chart(frame)
        .mark_rect(color=colour, opacity=0.6, stroke="white", strokeWidth=0.6, **more)
        .encode(x=x, x2="high:Q", y=y, y2=alt.datum(0))
    )


def count_axis(title: str, **more: Any) -> alt.Axis:
    """An axis of whole numbers."""
    return alt.Axis(title=title, grid=True, tickMinStep=1, tickCount=4, format=",d", **more)
