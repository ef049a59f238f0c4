"""What the figures of counts share: bars from given ends."""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.marks import Drawn, chart
from analysis.charts.style import HUMANS


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
