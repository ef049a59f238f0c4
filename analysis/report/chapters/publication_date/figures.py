"""Whether older studies are easier for a model: difficulty over the date of publication."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
from django.utils.translation import gettext_lazy as _

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import Drawn, chart, finish, level, spread
from analysis.charts.rows import by_family, labels
from analysis.charts.style import GAINED, LINE
from analysis.codec import need, present, tidy_table
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables, need_table
from analysis.report.chapters.publication_date.results import ModelDates, PublicationDate
from analysis.stats import NotEnough
from lib.formatting import number

RIGHT, WRONG = _("right"), _("wrong")
RHO = "\N{GREEK SMALL LETTER RHO}"
MOST = 12_000  # points in all; more say no more and make the file slow
MOST_EACH = 4_000
TABLE = ("name", "display_name", "family", "n", "rho", "p", "n_unique_dates", "ci_low", "ci_high")


def publication_date(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: a dot per test case, the rank correlation with its interval as heading."""
    every = need(source.of(PublicationDate).publication_date)
    models = by_family([m for m in every if present(m.correlation)])
    if not models:
        raise NotEnough("No model scored three dated test cases.", "Score more test cases.")
    items = need_table(tables, "publication_date_items")
    names = labels(models)
    each = min(MOST_EACH, max(1, MOST // len(models)))
    counts = items["name"].value_counts()
    rhos = [m.known.rho for m in models if m.known]
    context = {
        "n_models": len(models),
        "n_items": counts.max(),
        "most_each": each if counts.max() > each else None,
        "lowest": min(rhos, default=None),
        "highest": max(rhos, default=None),
    }
    text = figure_text("publication_date", context)
    drawn = finish(_chart(models, names, items, each), text.alt)
    return Figure(
        "publication_date", text.title, text.caption, text.alt, tidy_table(models, TABLE), drawn
    )


FIGURES: Mapping[str, FigureBuilder] = {"publication_date": publication_date}


def _chart(
    models: list[ModelDates], names: Mapping[str, str], items: pd.DataFrame, each: int
) -> Drawn:
    frames = {m.name: _points(items[items["name"] == m.name], each) for m in models}
    days = pd.to_datetime(items["date"])
    dates = [f"{day:%Y-%m-%d}" for day in (days.min(), days.max())]
    low, high = spread(
        [*pd.concat(frames.values())["difficulty_ppl"].quantile([0.002, 0.998])], must=[0]
    )

    decisions = alt.Scale(domain=[str(RIGHT), str(WRONG)], range=[GAINED, LINE])

    def draw(place: Place) -> Drawn:
        model = models[place.number]
        x = alt.X(
            "date:T",
            scale=alt.Scale(type="utc", domain=dates, nice=False),
            axis=place.x_axis("Published", format="%b %Y", values=dates),
        )
        y = alt.Y(
            "difficulty_ppl:Q",
            scale=alt.Scale(domain=[low, high], nice=False, clamp=True),
            axis=place.y_axis("ΔPPL", 34, tickCount=4),
        )
        legend = (
            alt.Legend(title=None, symbolSize=48, symbolOpacity=1) if place.number == 0 else None
        )
        colour = alt.Color("decision:N", scale=decisions, legend=legend)
        dots = chart(frames[model.name]).mark_point(size=10, opacity=0.6)
        return alt.layer(level(0.0), dots.encode(x=x, y=y, color=colour))

    titles = [(names[m.name], _rho(m)) for m in models]
    return grid(titles, draw, columns=columns_for(len(models), 4), left=52, height=92)


def _points(items: pd.DataFrame, most: int) -> pd.DataFrame:
    step = -(-len(items) // most) or 1
    shown = items.iloc[::step]
    decision = shown["is_correct"].map({True: str(RIGHT), False: str(WRONG)})
    return shown[["difficulty_ppl"]].assign(date=pd.to_datetime(shown["date"]), decision=decision)


def _rho(model: ModelDates) -> str:
    found = model.known
    rho, ci95 = (found.rho, found.ci95) if found else (None, None)
    low, high = ci95 or (None, None)
    return f"{RHO} = {number(rho)} [{number(low)}, {number(high)}]"
