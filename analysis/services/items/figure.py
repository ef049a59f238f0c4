"""One test case among its field's: how often people are right on it, and how hard models find it."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import chart, share_domain, share_x, share_y
from analysis.charts.style import FULL, LOST, SOFT
from analysis.presentation import make_figure
from analysis.services.items.words import place_text

if TYPE_CHECKING:
    from analysis.services.items.statistics import Place

HEIGHT = 260


def item_place(place: "Place") -> Figure:
    table = pd.DataFrame({"key": place.keys, "people": place.people, "models": place.models})
    table["is_own"] = table.index == place.at
    x = share_x("models", [0, 1], "Mean rank by models, as a share (0%: hardest)")
    y = share_y("people", share_domain(list(place.people)), "People right")
    others = chart(table[~table["is_own"]]).mark_point(color=SOFT, size=26, opacity=0.7)
    own = chart(table[table["is_own"]])
    dot = own.mark_point(color=LOST, size=110, filled=True, shape="diamond", opacity=1)
    name = own.mark_text(color=LOST, dy=-13, fontWeight="bold").encode(text="key:N")
    drawn = alt.layer(*(layer.encode(x=x, y=y) for layer in (others, dot, name)))
    drawn = drawn.properties(width=FULL - 80, height=HEIGHT)
    return make_figure("item_place", drawn, place_text(place.keys[place.at]), table)
