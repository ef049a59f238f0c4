"""How a model's preference grows along the texts: the running log-likelihood ratio, right and wrong decisions apart."""

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import Drawn, chart, finish, level, spread
from analysis.charts.rows import by_family, labels
from analysis.charts.style import GAINED, INK, LOST
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import SourceResults, Tables, need_table
from analysis.report.chapters.flips.results import ChangesOfMind
from lib.formatting import known

DECISIONS = {"right": "decision right", "wrong": "decision wrong"}
COLOURS = alt.Scale(domain=list(DECISIONS.values()), range=[GAINED, LOST])


def flips_trajectories(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: median and quartiles over test cases of the running log-likelihood ratio at 21 places of the text."""
    own = need(source.of(ChangesOfMind).flips)
    frame = need_table(tables, "flips_trajectories")
    drawn_names = set(frame["name"])
    models = by_family([m for m in own.models if m.name in drawn_names])
    names = labels(models)
    shown = frame.assign(kind=frame["decision"].map(DECISIONS))
    low, high = spread([*frame["q1_nats"], *frame["q3_nats"]], must=[0])

    def draw(place: Place) -> Drawn:
        x = alt.X(
            "place:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=place.x_axis("Share of the text", format=".0%", tickCount=2),
        )
        axis = place.y_axis("Ratio, nats", 40, tickCount=4)
        y = alt.Y("median_nats:Q", scale=alt.Scale(domain=[low, high], nice=False), axis=axis)
        return _panel(shown[shown["name"] == models[place.number].name], x, y)

    titles = [(names[m.name], _counts(frame, m.name)) for m in models]
    drawn = grid(titles, draw, columns=columns_for(len(models), 4), left=60, height=120)
    drawn = drawn.resolve_scale(color="shared")
    ends = frame[frame["place"] == 1].groupby("decision", sort=False)["median_nats"].mean()
    right, wrong = (known(end) for end in ends.reindex(list(DECISIONS)))
    context = {
        "n_models": len(models),
        "n_items": max(m.n_items for m in models),
        "right_nats": right,
        "wrong_nats": wrong,
    }
    text = figure_text("flips_trajectories", context)
    drawn = finish(drawn, text.alt)
    return Figure("flips_trajectories", text.title, text.caption, text.alt, frame, drawn)


def _panel(frame: pd.DataFrame, x: alt.X, y: alt.Y) -> Drawn:
    data = chart(frame)
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2, symbolOpacity=1)
    colour = alt.Color("kind:N", scale=COLOURS, legend=legend)
    band = data.mark_area(opacity=0.18).encode(
        x=x, y=alt.Y("q1_nats:Q"), y2="q3_nats:Q", color=colour
    )
    line = data.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
    return alt.layer(level(0.0, colour=INK), band, line)


def _counts(frame: pd.DataFrame, name: str) -> str:
    """How many decisions of the model are right, how many wrong."""
    n = frame[frame["name"] == name].groupby("decision", sort=False)["n_items"].first()
    return ", ".join(f"{n_items:,} {decision}" for decision, n_items in n.items())
