"""Figures: a chart with its words and the numbers behind it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:  # a report's numbers and its page are made without what draws
    from altair.typing import ChartType
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from analysis.charts.marks import Drawn, wrapped
from analysis.charts.style import FULL, INK


@dataclass(frozen=True)
class Figure:
    """`caption` gives n and the kind of interval; `alt` is for those who do not see the chart; `table` holds its numbers."""

    name: str
    title: str
    caption: str
    alt: str
    table: pd.DataFrame
    chart: "ChartType"


GAP = 14
WIDEST = 260  # px of a panel where there are few


@dataclass(frozen=True)
class Place:
    """Where a panel stands: in the first column, with none below it, its number; the plot's width in px."""

    first: bool
    bottom: bool
    number: int
    width: int

    def y_axis(self, title: str, extent: int = 34, **more: Any) -> alt.Axis:
        """The y axis: names and title in the first column only."""
        if not self.first:
            return alt.Axis(title=None, labels=False, grid=True, minExtent=0, maxExtent=0)
        return alt.Axis(title=title, grid=True, minExtent=extent, maxExtent=extent, **more)

    def x_axis(self, title: str, **more: Any) -> alt.Axis:
        """The x axis: numbers where no panel follows below, the title once."""
        words = title if self.bottom and self.first else None
        return alt.Axis(
            title=words, labels=self.bottom, titleAnchor="start", labelFlush=True, **more
        )


def columns_for(n: int, most: int = 5) -> int:
    """How many columns make the fullest last row, the more the better.

    >>> columns_for(15), columns_for(30), columns_for(3), columns_for(7)
    (5, 5, 3, 4)
    """
    if n <= most:
        return max(n, 1)
    return max(range(max(2, most - 1), most + 1), key=lambda c: ((n - 1) % c, c))


def grid(
    titles: Sequence[tuple[str, str]],
    draw: Callable[[Place], Drawn],
    *,
    columns: int,
    left: int,
    height: int,
    total: int = FULL,
    inner: int = 0,
) -> Drawn:
    """Panels side by side; `titles` are (name, smaller line) per panel.

    `left` and `inner` are the px that the y axes of the first column and of each other one take.
    """
    if len(titles) == 1:  # a panel by itself has room
        height *= 2
    width = min(
        WIDEST * 2 if len(titles) == 1 else WIDEST,
        int((total - left - (GAP + inner) * (columns - 1) - 24) / columns),
    )
    lines = [wrapped(name, max(10, int(width / 6.4))).split("\n") for name, _ in titles]
    bold: Any = "bold"
    panels = []
    for n, (heading, (_, small)) in enumerate(zip(lines, titles, strict=True)):
        place = Place(n % columns == 0, n + columns >= len(titles), n, width)
        # Lines over the panel as marks: a chart's own title would move with the height of the axis' labels
        from_below = ([(small, "normal")] if small else []) + [(t, bold) for t in reversed(heading)]
        over = [
            alt.Chart(alt.InlineData(values=[{"text": text}]))
            .mark_text(align="left", baseline="bottom", fontWeight=weight, color=INK)
            .encode(x=alt.value(0), y=alt.value(-5 - 13 * k), text="text:N")
            for k, (text, weight) in enumerate(from_below)
        ]
        drawn = alt.layer(draw(place), *over)
        panels.append(drawn.properties(width=width, height=height))
    return alt.concat(*panels, columns=columns, spacing=GAP)
