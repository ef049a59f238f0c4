"""What a figure is: a chart with its words and the numbers behind it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:  # a report's numbers and its page are made without what draws
    from altair.typing import ChartType


@dataclass(frozen=True)
class Figure:
    """`caption` gives n and the kind of interval; `alt` is for those who do not see the chart; `table` holds its numbers."""

    name: str
    title: str
    caption: str
    alt: str
    table: pd.DataFrame
    chart: "ChartType"
