"""How well models know texts by heart: compressed length over perplexity, source by source (the paper's figure S7)."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from analysis import columns as c
from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    dots,
    level,
    log_scale,
    log_ticks,
    own_colour,
    spread,
    text_width,
    y_of,
)
from analysis.charts.rows import Rows, by_family, labels, short
from analysis.charts.style import FULL, GAINED, INK, LINE, MODELS, NOTE, family_colour
from analysis.charts.texts import by_value
from analysis.codec import need, present
from analysis.presentation import make_figure
from analysis.report.chapter import SourceResults, Tables, need_table
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.memorisation.results import (
    Memorisation,
    ModelDates,
    ModelRatios,
    PublicationDate,
    TextKind,
)
from analysis.report.chapters.memorisation.words import (
    RHO,
    memorisation_figure,
    publication_date_figure,
)
from analysis.stats import NotEnough
from lib import points
from lib.formatting import number

MEMORISATION_MOST = 12  # models with all their sources
SOURCES = (
    *c.data("corpus", "label", "kind", "n=spread.n", "min=spread.min", "q1=spread.q1"),
    *c.data("median=spread.median", "q3=spread.q3", "max=spread.max"),
)
OTHERS = "Other models, original test cases"
ALONE = "Original test cases"  # where no model is drawn with all its texts


def memorisation(source: SourceResults, tables: Tables) -> Figure:
    """Median, quartiles and range of the ratio for each source, by model; a diamond for the text known by heart.

    All sources of the models that read more than the test cases; of the others only the original test cases, for width.
    """
    own = need(source.of(Memorisation).memorisation)
    models = by_family(own.models)
    names = labels(models)
    readers = [m for m in models if m.has_references]
    detailed = readers[:MEMORISATION_MOST] or (models if len(models) <= MEMORISATION_MOST else [])
    whole = {m.name for m in detailed}
    rest = OTHERS if whole else ALONE
    frames = []
    for model in models:
        own_frame = c.tidy(SOURCES, model.sources)
        of_items = family_colour(model.family)
        colours = {TextKind.ORIGINAL: of_items, TextKind.ALTERED: of_items, TextKind.ANCHOR: NOTE}
        colour = own_frame["kind"].map(colours).fillna(MODELS)
        shown = [short(text) for text in own_frame["label"]]
        own_frame = own_frame.assign(**model.named, source=shown, colour=colour)
        name = names[model.name]
        if model.name in whole:
            # Sources have the same names under every model: a row needs the model's as well
            rows = [f"{text}\t{name}" for text in shown]
            frames.append(own_frame.assign(heading=name, row=rows, shown=shown))
        else:
            originals = own_frame[own_frame["kind"] == TextKind.ORIGINAL]
            frames.append(originals.assign(heading=rest, row=name, shown=name))
    chat = source.of(Accuracy).chat_models
    frame = pd.concat(frames, ignore_index=True)
    frame["is_chat"] = frame["name"].isin(list(chat))
    text = memorisation_figure(frame, models, names, own.anchor_label, len(detailed))
    table = frame.drop(columns=["colour", "row", "heading", "shown", "is_chat"])
    return make_figure("memorisation", _memorisation_chart(frame, models), text, table)


def _memorisation_chart(frame: pd.DataFrame, models: Sequence[ModelRatios]) -> Drawn:
    # A heading for each model with all its texts, then one for the others
    of_models = {m.name: family_colour(m.family) for m in models}
    shown_rows: list[str] = []
    headings: dict[str, str] = {}
    for heading in sorted(dict.fromkeys(frame["heading"]), key=lambda h: h == OTHERS):
        group = frame[frame["heading"] == heading]
        headings[heading] = INK if heading in (OTHERS, ALONE) else of_models[group["name"].iloc[0]]
        shown_rows += [heading, *group["row"]]
    rows = Rows({}, shown_rows, headings)

    domain = [float(frame["min"].min()) * 0.9, float(frame["max"].max()) * 1.1]
    axis = alt.Axis(
        title="Compressed bytes / perplexity",
        values=log_ticks(*domain),
        format=",~r",
        labelOverlap="greedy",
    )
    x = alt.X("median:Q", scale=log_scale(domain), axis=axis)
    shown = {row: row for row in rows.headings} | dict(
        zip(frame["row"], frame["shown"], strict=True)
    )
    width = max(text_width(list(shown.values())), 40) + 12
    y = rows.y(labelExpr=by_value(shown), minExtent=width, maxExtent=width)
    anchor = frame["kind"] == TextKind.ANCHOR
    several, one = chart(frame[~anchor]), chart(frame[anchor])
    span = several.mark_rule(color=LINE, strokeWidth=1).encode(x=alt.X("min:Q"), x2="max:Q", y=y)
    box = several.mark_rule(strokeWidth=5, opacity=0.5).encode(
        x=alt.X("q1:Q"), x2="q3:Q", y=y, color=own_colour()
    )
    medians = dots(several, size=36).encode(x=x, y=y)
    diamond = one.mark_point(shape="diamond", size=64).encode(x=x, y=y, color=own_colour())
    return alt.layer(span, box, medians, diamond).properties(
        width=FULL - width - 30, height=rows.height
    )


# --- Whether older studies are easier for a model: difficulty over the date of publication.

RIGHT, WRONG, TIED = "right", "wrong", "tie"
DECISIONS = {points.RIGHT: RIGHT, points.WRONG: WRONG, points.TIE: TIED}
PUBLICATION_DATE_MOST = 12_000  # points in all; more say no more and make the file slow
MOST_EACH = 4_000
TABLE = (
    *c.model(),
    *c.data("family", "n=correlation.n", "rho=correlation.rho"),
    *c.data("p=correlation.p", "n_unique_dates=correlation.n_unique_dates", "ci=correlation.ci95"),
)


def publication_date(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: a dot per test case, the rank correlation with its interval as heading."""
    every = need(source.of(PublicationDate).publication_date)
    items = need_table(tables, "publication_date_items")
    scored = set(items["name"])
    models = by_family([m for m in every if present(m.correlation) and m.name in scored])
    if not models:
        raise NotEnough("No model scored three dated test cases.", "Score more test cases.")
    names = labels(models)
    each = min(MOST_EACH, max(1, PUBLICATION_DATE_MOST // len(models)))
    counts = items["name"].value_counts()
    most = int(counts.max())
    text = publication_date_figure(models, most, each if most > each else None)
    drawn = _publication_date_chart(models, names, items, each)
    return make_figure("publication_date", drawn, text, c.tidy(TABLE, models))


def _publication_date_chart(
    models: list[ModelDates], names: Mapping[str, str], items: pd.DataFrame, each: int
) -> Drawn:
    frames = {}
    for model in models:
        of_model = items[items["name"] == model.name]
        shown_items = of_model.iloc[:: -(-len(of_model) // each) or 1]
        frames[model.name] = shown_items[["difficulty_ppl"]].assign(
            date=pd.to_datetime(shown_items["date"]),
            decision=shown_items["points"].map(DECISIONS).astype(str),
        )
    days = pd.to_datetime(items["date"])
    dates = [f"{day:%Y-%m-%d}" for day in (days.min(), days.max())]
    middle = pd.concat(frames.values())["difficulty_ppl"].quantile([0.002, 0.998])
    ends = spread([*middle], must=[0])
    tied = (items["points"] == points.TIE).any()
    shown = {RIGHT: GAINED, WRONG: LINE} | ({TIED: NOTE} if tied else {})
    decisions = alt.Scale(domain=[*shown], range=[*shown.values()])

    def draw(place: Place) -> Drawn:
        model = models[place.number]
        x = alt.X(
            "date:T",
            scale=alt.Scale(type="utc", domain=dates, nice=False),
            axis=place.x_axis("Published", format="%b %Y", values=dates),
        )
        y = y_of("difficulty_ppl", ends, place.y_axis("ΔPPL", 34, tickCount=4), clamp=True)
        legend = (
            alt.Legend(title=None, symbolSize=48, symbolOpacity=1) if place.number == 0 else None
        )
        colour = alt.Color("decision:N", scale=decisions, legend=legend)
        dots = chart(frames[model.name]).mark_point(size=10, opacity=0.6)
        return alt.layer(level(0.0), dots.encode(x=x, y=y, color=colour))

    titles = []
    for model in models:
        rho, ci95 = (found.rho, found.ci95) if (found := model.known) else (None, None)
        low, high = ci95 or (None, None)
        titles.append((names[model.name], f"{RHO} = {number(rho)} [{number(low)}, {number(high)}]"))
    return grid(titles, draw, columns=columns_for(len(models), 4), left=52, height=92)
