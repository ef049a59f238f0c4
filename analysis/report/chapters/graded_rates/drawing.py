"""Common parts of the figures of graded answers: colours and rows of models, heatmaps, and boxes."""

from collections.abc import Sequence
from typing import Any, Protocol

import altair as alt
import pandas as pd

from analysis.charts.marks import (
    Drawn,
    chart,
    own_colour,
    own_fill,
    own_stroke,
    text_width,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, labels, short
from analysis.charts.style import FULL, HEAT, HUMANS, INK, PALE, SOFT, family_colours
from analysis.data.graded.tables import AnswererName

CELL, LEGIBLE, TALL = 52, 26, 20  # px: the widest cell, the narrowest with its number, a row
NA = "NA"
STEEP = -40  # degrees of the models' names over a heatmap


def colours(models: Sequence[AnswererName]) -> dict[str, str]:
    """A colour for each name: a family's, or a model's own where it is of none; people have theirs."""
    family = {m.name: m.family or m.name for m in models if not m.is_people}
    of_family = family_colours(family.values())
    return {m.name: HUMANS if m.is_people else of_family[family[m.name]] for m in models}


def rows_of(models: Sequence[AnswererName], *before: str) -> Rows:
    """A row for each, in this order; rows `before` them."""
    label = labels(models)
    return Rows(label, [*before, *(label[model.name] for model in models)])


class OfCategory(Protocol):
    """A result about one category."""

    @property
    def dimension(self) -> str: ...

    @property
    def category(self) -> str: ...


def category_labels(categories: Sequence[OfCategory]) -> dict[tuple[str, str], str]:
    """Labels of (dimension, category); no two of a dimension are alike."""
    found: dict[tuple[str, str], str] = {}
    for one in categories:
        label, n = short(one.category), 2
        while (one.dimension, label) in {(d, x) for (d, _), x in found.items()}:
            label, n = f"{short(one.category, 40)} ({n})", n + 1
        found[one.dimension, one.category] = label
    return found


def heat(field: str, title: str) -> alt.Color:
    """The shade of a share, with a legend of this title."""
    legend: dict[str, Any] = {"gradientLength": 160, "gradientThickness": 10}
    return alt.Color(
        f"{field}:Q",
        scale=alt.Scale(domain=[0, 1], range=list(HEAT)),
        legend=alt.Legend(title=title, format=".0%", values=[0, 0.5, 1], **legend),
    )


def heatmap(
    cells: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    name: str,
    title: str,
    left: int,
    with_columns: bool = True,
) -> Drawn:
    """A cell for each row of `cells`: row, column (names), value (share, NaN not known) and text, "NA" where few.

    name: over the rows' names, which take `left` px. title: of the colours. with_columns: the columns' names stand over them.
    """
    width = max(14, min(CELL, (FULL - left - 90) // max(len(columns), 1)))
    across = {name: n for n, name in enumerate(columns)}
    down = {name: n for n, name in enumerate(rows)}
    placed = cells.assign(
        x=cells["column"].map(across), y=cells["row"].map(down), dark=cells["value"] > 0.55
    )
    placed = placed.assign(x2=placed["x"] + 1, y2=placed["y"] + 1)
    x, y = x_of("x", [0, len(columns)], None), y_of("y", [len(rows), 0], None)
    box: dict[str, Any] = {"x": x, "x2": "x2:Q", "y": y, "y2": "y2:Q"}
    known, unknown = (
        chart(placed[some]) for some in (placed["value"].notna(), placed["value"].isna())
    )
    shaded = known.mark_rect(stroke="white", strokeWidth=1)
    layers: list[Any] = [
        shaded.encode(**box, color=heat("value", title)),
        unknown.mark_rect(color="white", stroke=PALE, strokeWidth=1).encode(**box),
    ]
    if width >= LEGIBLE:
        grey = placed["text"] == NA
        ink = placed["dark"].map({True: "white", False: INK}).mask(grey, SOFT)
        middle = chart(placed.assign(x=placed["x"] + 0.5, y=placed["y"] + 0.5, ink=ink))
        colour = alt.Color("ink:N", scale=None, legend=None)
        layers.append(middle.mark_text(fontSize=10).encode(x=x, y=y, text="text:N", color=colour))
    layers += _names(name, rows, columns if with_columns else ())
    return alt.layer(*layers).properties(width=width * len(columns), height=TALL * len(rows))


def _names(heading: str, rows: Sequence[str], columns: Sequence[str]) -> list[Drawn]:
    """Names beside the rows under their heading, and over the columns, if these are given."""
    down = chart(pd.DataFrame({"y": [n + 0.5 for n in range(len(rows))], "name": list(rows)}))
    beside = down.mark_text(align="right", dx=-6)
    above = alt.Chart(alt.InlineData(values=[{"name": heading}])).mark_text(
        align="right", baseline="bottom", dx=-6, fontWeight="bold", color=INK
    )
    found: list[Drawn] = [
        beside.encode(x=alt.value(0), y=alt.Y("y:Q"), text="name:N"),
        above.encode(x=alt.value(0), y=alt.value(-3), text="name:N"),
    ]
    if columns:
        placed = {"x": [n + 0.5 for n in range(len(columns))], "name": list(columns)}
        steep = {"align": "left", "baseline": "bottom", "angle": 360 + STEEP, "dy": -3, "dx": 1}
        over = chart(pd.DataFrame(placed)).mark_text(**steep)
        found.append(over.encode(x=alt.X("x:Q"), y=alt.value(-4), text="name:N"))
    return found


def left_of(names: Sequence[str]) -> int:
    """px that the names of rows take."""
    return text_width(list(names)) + 10


def boxes(frame: pd.DataFrame, x: alt.X, y: alt.Y) -> Drawn:
    """A box each from `q25` to `q75`, its `median`, whiskers from `low` to `high`, the `mean` as a diamond."""
    data = chart(frame)
    whiskers = [
        data.mark_rule(strokeWidth=1).encode(
            x=alt.X(f"{one}:Q"), x2=f"{other}:Q", y=y, color=own_colour()
        )
        for one, other in (("low", "q25"), ("q75", "high"))
    ]
    box = data.mark_bar(height=10, fillOpacity=0.35, strokeWidth=1).encode(
        x=x,
        x2="q75:Q",
        y=y,
        fill=own_fill(),
        stroke=own_stroke(),
    )
    median = data.mark_tick(thickness=2.4, size=12, color=INK).encode(x=alt.X("median:Q"), y=y)
    mean = data.mark_point(shape="diamond", filled=True, size=44, stroke="white", strokeWidth=0.8).encode(
        x=alt.X("mean:Q"), y=y, fill=alt.value(INK)
    )  # fmt: skip
    return alt.layer(*whiskers, box, median, mean)


def named(points: pd.DataFrame) -> Drawn:
    """Names of points where `beside` puts them, white around their letters."""
    halo: Any = {"stroke": "white", "strokeWidth": 3, "strokeJoin": "round", "strokeOpacity": 0.8}
    placed = []
    for align in ("left", "center", "right"):
        some = chart(points[points["align"] == align])
        where = {"x": alt.X("label_x:Q"), "y": alt.Y("label_y:Q"), "text": "label:N"}
        words: Any = {"align": align, "baseline": "middle"}
        placed += [
            some.mark_text(**words, **halo).encode(**where),
            some.mark_text(**words).encode(color=own_colour(), **where),
        ]
    return alt.layer(*placed)


# --- Where the names of points stand, so that they cover neither one another nor other points.

HEIGHT, GAP, DOT = 13, 8, 5  # px: a line of text, from a point to its name, half of a point
Rectangle = tuple[float, float, float, float]


def beside(
    points: pd.DataFrame, wide: int, high: int, others: Sequence[Rectangle] = ()
) -> dict[str, Any]:
    """label_x, label_y (in the axes' unit) and align of each name: right of its point if it can be, else around it.

    points: rqr, sr, label; in a rectangle of `wide` by `high` px, from 0 to 1 either way. others: boxes (left, top, right,
    bottom in px from above) of what stands there already.
    """
    dots = [(x * wide, (1 - y) * high) for x, y in zip(points["rqr"], points["sr"], strict=True)]
    taken: list[Rectangle] = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots]
    taken += others
    found = []
    for n, ((x, y), label) in enumerate(zip(dots, points["label"], strict=True)):
        known = taken[:n] + taken[n + 1 :]
        # Alignment, where its text is anchored, and the box that it fills, the best first
        width, up = text_width([label]), HEIGHT / 2
        choices: list[tuple[str, float, float, Rectangle]] = []
        for dy in (0, -HEIGHT, HEIGHT, -2 * HEIGHT, 2 * HEIGHT):
            middle, start, end = y + dy, x + GAP, x - GAP
            above, below = middle - up, middle + up
            choices.append(("left", start, middle, (start, above, start + width, below)))
            choices.append(("right", end, middle, (end - width, above, end, below)))
            if dy:
                box = (x - width / 2, above, x + width / 2, below)
                choices.append(("center", x, middle, box))
        cost = [_cost(box, known, wide, high) for _, _, _, box in choices]
        align, left, top, box = choices[cost.index(min(cost))]
        taken.append(box)
        found.append((left / wide, 1 - top / high, align))
    return {
        name: [place[n] for place in found]
        for n, name in enumerate(("label_x", "label_y", "align"))
    }


def _cost(own: Rectangle, others: list[Rectangle], wide: int, high: int) -> float:
    """px^2 that the box shares with others, and what of it is outside."""
    left, top, right, bottom = own
    covered = sum(
        max(0.0, min(right, box[2]) - max(left, box[0]))
        * max(0.0, min(bottom, box[3]) - max(top, box[1]))
        for box in others
    )
    outside = max(0.0, -left) + max(0.0, right - wide) + max(0.0, -top) + max(0.0, bottom - high)
    return covered + HEIGHT * outside
