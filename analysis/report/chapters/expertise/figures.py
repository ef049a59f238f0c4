"""How much expertise people say they have, by subfield, and their accuracy at each level of it (the paper's supplement)."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
from django.utils.translation import gettext as _

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import Drawn, bars, finish, quarters, upright
from analysis.charts.style import HUMANS, NOTE
from analysis.codec import need, present, to_json
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.calibration.panel import (
    bins_frame,
    bins_table,
    panel,
    with_line,
    x_of_rank,
)
from analysis.report.chapters.expertise.results import OVERALL, Expertise
from analysis.stats import NotEnough
from lib import formatting as f


def expertise(source: SourceResults, tables: Tables) -> Figure:
    """A histogram per subfield and over all, with the 80th percentile as a line."""
    groups = need(source.of(Expertise).expertise).distributions
    names = [own.subfield or _("not stated") for own in groups]
    frames = [pd.DataFrame(to_json(own.ratings.histogram)) for own in groups]
    frames = [frame.assign(share=frame["n"] / frame["n"].sum()) for frame in frames]
    top = max(float(frame["share"].max()) for frame in frames)

    def draw(place: Place) -> Drawn:
        return _histogram(frames[place.number], groups[place.number].ratings.p80, top, place)

    small = [
        f"n = {f.number(own.ratings.n, 0)}, median {f.number(own.ratings.median, 0)}"
        for own in groups
    ]
    titles = list(zip(names, small, strict=True))
    drawn = grid(titles, draw, columns=columns_for(len(groups), 3), left=56, height=96)
    percentiles = [own.ratings.p80 for own in groups]
    context = {
        "most": max(own.ratings.n for own in groups),
        "percentiles": list(zip(names, percentiles, strict=True)),
    }
    text = figure_text("expertise", context)
    table = pd.concat(
        [x.assign(subfield=own.subfield) for x, own in zip(frames, groups, strict=True)],
        ignore_index=True,
    )
    drawn = finish(drawn, text.alt)
    return Figure("expertise", text.title, text.caption, text.alt, table, drawn)


def expertise_calibration(source: SourceResults, tables: Tables) -> Figure:
    """A panel over all and one per subfield: four bins with 95% intervals and a regression line."""
    groups = [
        (own.subfield, binned)
        for own in need(source.of(Expertise).expertise).calibration
        if (binned := present(own.binned))
    ]
    if not groups:
        raise NotEnough("Too few ratings of expertise for bins.", "Collect more judgments.")
    names = [_name(subfield) for subfield, binned in groups]
    frames = [bins_frame(binned) for subfield, binned in groups]
    domain = with_line(frames)

    def draw(place: Place) -> Drawn:
        axis = place.y_axis("Correct answers", 40, format=".0%", values=quarters(domain))
        y = alt.Y("accuracy:Q", scale=alt.Scale(domain=domain, nice=False, zero=False), axis=axis)
        x = x_of_rank(place.x_axis("Expertise, rank", format=".0%", tickCount=2))
        return panel(frames[place.number], HUMANS, x, y)

    correlations = [binned.line.r for subfield, binned in groups]
    small = [f"n = {b.n:,}, r = {f.number(b.line.r)}" for subfield, b in groups]
    titles = list(zip(names, small, strict=True))
    drawn = grid(titles, draw, columns=columns_for(len(groups), 3), left=56, height=110)
    context = {
        "most": max(binned.n for subfield, binned in groups),
        "n_bins": len(frames[0]),
        "correlations": list(zip(names, correlations, strict=True)),
    }
    text = figure_text("expertise_calibration", context)
    named = [x.assign(subfield=s) for x, (s, binned) in zip(frames, groups, strict=True)]
    drawn = finish(drawn, text.alt)
    table = bins_table(pd.concat(named))
    return Figure("expertise_calibration", text.title, text.caption, text.alt, table, drawn)


FIGURES: Mapping[str, FigureBuilder] = {
    "expertise": expertise,
    "expertise_calibration": expertise_calibration,
}


def _name(subfield: str) -> str:
    return _("All") if subfield == OVERALL else subfield or _("not stated")


def _histogram(frame: pd.DataFrame, p80: float, top: float, place: Place) -> Drawn:
    # Ratings are whole numbers: a bin from 11 to 20 reaches from 10.5 to 20.5
    edges = frame.assign(low=frame["low"] - 0.5, high=frame["high"] + 0.5)
    x = alt.X(
        "low:Q",
        scale=alt.Scale(domain=[0, 101], nice=False),
        axis=place.x_axis("Expertise, 1 to 100", values=[1, 25, 50, 75, 100]),
    )
    axis = place.y_axis("Share of judgments", 40, format=".0%", tickCount=4)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    return alt.layer(bars(edges, x, y), upright(p80, colour=NOTE, width=1.4))
