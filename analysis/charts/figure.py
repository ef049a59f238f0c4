"""What a figure is: a chart with its words and the numbers behind it."""

from dataclasses import dataclass

import pandas as pd
from altair.typing import ChartType


@dataclass(frozen=True)
class Figure:
    """`caption` gives n and the kind of interval; `alt` is for those who do not see the chart; `table` holds its numbers."""

    name: str
    title: str
    caption: str
    alt: str
    table: pd.DataFrame
    chart: ChartType
