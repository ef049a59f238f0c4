"""A panel of binned accuracy over the ranks of confidence or expertise, with the regression line."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis import columns as c
from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    bars,
    chart,
    dots,
    intervals,
    level,
    own_colour,
    quarters,
    share_domain,
    share_y,
    spread,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import PEOPLE, Rows, by_family, labels, rows_of
from analysis.charts.style import FULL, HALF, HUMANS, NOTE, SOFT, family_colour
from analysis.codec import need, present
from analysis.data.dataset import ModelName
from analysis.data.filters import CHOICE
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.confidence.results import (
    HUMAN_ROW,
    OVERALL,
    Calibration,
    Expertise,
)
from analysis.report.chapters.confidence.words import (
    FEWEST_PER_BIN,
    calibration_humans_figure,
    calibration_models_figure,
    expertise_calibration_figure,
    expertise_figure,
    is_drawn,
    subfield_name,
    table_s3_figure,
)
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.calibration import Binned
from lib import formatting as f

Fitted = tuple[float, Interval]  # a slope

BIN = c.data("bin", "midpoint", "n", "n_correct", "accuracy", "low=ci95.0", "high=ci95.1")
BAR = c.data("low", "high", "n")
COLUMNS = ["bin", "midpoint", "confidence", "n", "n_correct", "accuracy", "low", "high", "fit"]


def bins_frame(found: Binned) -> pd.DataFrame:
    """One row per bin with its interval, its place among all ranks (0 to 1) and the regression's value there."""
    frame = c.tidy(BIN, found.bins).reindex(columns=COLUMNS)
    frame["confidence"] = frame["midpoint"] / found.n
    frame["fit"] = found.line.intercept + found.line.slope * frame["midpoint"].astype(float)
    return frame


def with_line(frames: Sequence[pd.DataFrame]) -> list[float]:
    """The ends of the accuracies' axis: all intervals are within, and the lines, which may leave 0 to 1."""
    every = pd.concat([frame[["low", "high", "fit"]] for frame in frames])
    low, high = share_domain([*every["low"], *every["high"]])
    return [min(low, float(every["fit"].min())), max(high, float(every["fit"].max()))]


def bins_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as a reader of the figure's table needs it."""
    return plain(frame.drop(columns="confidence"))


def panel(frame: pd.DataFrame, colour: str, x: alt.X, y: alt.Y, size: int = 30) -> Drawn:
    """Dots with intervals, the regression line, chance."""
    data = chart(frame.assign(colour=colour))
    bars = data.mark_rule(opacity=0.45, strokeWidth=1).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q", color=own_colour()
    )
    points = dots(data, size=size).encode(x=x, y=y)
    line = data.mark_line(strokeWidth=1.6).encode(x=x, y=alt.Y("fit:Q"), color=own_colour())
    return alt.layer(level(CHANCE), bars, line, points)


def x_of_rank(axis: alt.Axis) -> alt.X:
    return x_of("confidence", [0, 1], axis)


# --- Accuracy over confidence (the paper's figure 4), and the logistic coefficients of confidence (its Table S3).

FITTED, PAPER = "all data, unpenalised", "mean of five penalised fits (Table S3)"
KINDS = alt.Scale(domain=[FITTED, PAPER], range=["circle", "triangle-up"])


def calibration_humans(source: SourceResults, tables: Tables) -> Figure:
    """Twenty bins of equally many judgments, from least to most confident, with 95% intervals and a regression line."""
    people = present(need(source.of(Calibration).calibration).humans)
    binned = present(people.binned) if people else None
    if binned is None:
        raise NotEnough("No judgment has a confidence.", "Ask participants for their confidence.")
    if not is_drawn(binned):
        raise NotEnough(
            f"A bin would have fewer than {FEWEST_PER_BIN} judgments.",
            f"Collect {FEWEST_PER_BIN * len(binned.bins)} judgments.",
        )
    frame = bins_frame(binned)
    domain = with_line([frame])
    x = x_of_rank(alt.Axis(title="Confidence, rank among all judgments", format=".0%", tickCount=5))
    drawn = panel(frame, HUMANS, x, share_y("accuracy", domain, "Correct answers"), 40).properties(
        width=HALF - 62, height=220
    )
    text = calibration_humans_figure(binned)
    return make_figure("calibration_humans", drawn, text, bins_table(frame))


def calibration_models(source: SourceResults, tables: Tables) -> Figure:
    """A panel per model: bins from least to most confident with 95% intervals and a regression line."""
    found = by_family(need(source.of(Calibration).calibration).models)
    binned = [(m, fits) for m in found if (fits := present(m.binned)) and is_drawn(fits)]
    if not binned:
        raise NotEnough("No model has enough scores for bins.", "Score more test cases.")
    names = labels([m for m, _ in binned])
    frames = [bins_frame(fits) for _, fits in binned]
    domain = with_line(frames)
    chat = source.of(Accuracy).chat_models

    def draw(place: Place) -> Drawn:
        axis = place.y_axis("Correct answers", 40, format=".0%", values=quarters(domain))
        y = y_of("accuracy", domain, axis)
        x = x_of_rank(place.x_axis("Confidence, rank", format=".0%", tickCount=2))
        model, frame = binned[place.number][0], frames[place.number]
        shown = frame.assign(is_chat=model.name in chat)
        return panel(shown, family_colour(model.family), x, y, 18)

    titles = [(names[m.name], f"r = {f.number(fits.line.r)}") for m, fits in binned]
    drawn = grid(titles, draw, columns=columns_for(len(binned)), left=56, height=92)
    text = calibration_models_figure(
        [fits for _, fits in binned],
        has_asked=any(m.method == CHOICE for m, _ in binned),
        has_chat=any(m.name in chat for m, _ in binned),
    )
    named = [frame.assign(**m.named) for frame, (m, _) in zip(frames, binned, strict=True)]
    table = bins_table(pd.concat(named, ignore_index=True))
    return make_figure("calibration_models", drawn, text, table)


def table_s3(source: SourceResults, tables: Tables) -> Figure:
    """Two marks per row; people, whose confidence has another unit, in a panel of their own."""
    found = need(source.of(Calibration).calibration)
    people = present(found.humans)
    fitted = [(m, fit) for m in found.models if (fit := present(m.logistic))]
    own = present(people.slope) if people and present(people.binned) else None
    chat = source.of(Accuracy).chat_models
    line = (own.slope.slope, own.slope.ci95) if own else None
    paper = {row.name: s3.coef_mean for row in found.table_s3 if (s3 := present(row.fit))}
    blocks, frames = [], []
    rows = rows_of([m for m, _ in fitted])
    if fitted:
        shown = [
            mark
            for m, fit in fitted
            for mark in _marks(
                m, rows.label[m.name], family_colour(m.family), (fit.slope, fit.slope_ci95), paper
            )
        ]
        frames.append(pd.DataFrame(shown).assign(is_chat=lambda f: f["name"].isin(list(chat))))
        blocks.append(_block(frames[0], rows, "Log-odds per unit of |ΔPPL|", True))
    if shown := _marks(HUMAN_ROW, PEOPLE, HUMANS, line, paper):
        frames.append(pd.DataFrame(shown))
        wide = rows.width if fitted else 0
        title = "Log-odds per unit of confidence (1 to 100)"
        blocks.append(_block(frames[-1], Rows({}, [PEOPLE]), title, not fitted, wide))
    if not blocks:
        raise NotEnough(
            "Correct answers have not been fitted on confidence yet.",
            "Collect judgments or score models.",
        )
    table = pd.concat(frames, ignore_index=True)
    drawn = alt.vconcat(*blocks, spacing=16).resolve_scale(shape="shared")
    slopes = table[table["fit"] == FITTED]["slope"]
    text = table_s3_figure(
        most=max([fit.n for _, fit in fitted] + [own.slope.n if own else 0]),
        n_models=len(fitted),
        slopes=slopes.tolist(),
        has_chat=any(m.name in chat for m, _ in fitted),
    )
    return make_figure(
        "table_s3", drawn, text, table.drop(columns=["colour", "is_chat"], errors="ignore")
    )


def _marks(
    who: ModelName, row: str, colour: str, fit: Fitted | None, paper: Mapping[str, float]
) -> list[dict[str, Any]]:
    """The rows of the chart's data for one model, or for people; `paper`: its coefficients by name."""
    shared = {**who.named, "row": row, "colour": colour}
    marks: list[dict[str, Any]] = []
    if fit:
        slope, (low, high) = fit
        marks.append({**shared, "fit": FITTED, "slope": slope, "low": low, "high": high})
    if who.name in paper:
        marks.append({**shared, "fit": PAPER, "slope": paper[who.name], "low": None, "high": None})
    return marks


def _block(frame: pd.DataFrame, rows: Rows, title: str, legend: bool, wide: int = 0) -> Drawn:
    ends = spread([*frame["low"], *frame["high"], *frame["slope"]], must=[0])
    x = x_of("slope", ends, alt.Axis(title=title, tickCount=6))
    extent = max(rows.width, wide)
    y = rows.y(minExtent=extent, maxExtent=extent)
    data = chart(frame)
    key = alt.Legend(title=None, symbolFillColor=SOFT, symbolStrokeColor=SOFT) if legend else None
    shape = alt.Shape("fit:N", scale=KINDS, legend=key)
    bars = intervals(data, y, strokeWidth=1.4)
    points = dots(data, size=40).encode(x=x, y=y, shape=shape)
    return alt.layer(upright(0.0), bars, points).properties(
        width=FULL - extent - 30, height=max(rows.height, 24)
    )


# --- How much expertise people say they have, by subfield, and their accuracy at each level of it (the paper's supplement).


def expertise(source: SourceResults, tables: Tables) -> Figure:
    """A histogram per subfield and over all, with the 80th percentile as a line."""
    groups = need(source.of(Expertise).expertise).distributions
    names = [subfield_name(own.subfield) for own in groups]
    frames = [c.tidy(BAR, own.ratings.histogram) for own in groups]
    frames = [frame.assign(share=frame["n"] / frame["n"].sum()) for frame in frames]
    top = max(float(frame["share"].max()) for frame in frames)

    def draw(place: Place) -> Drawn:
        frame = frames[place.number]
        # Ratings are whole numbers: a bin from 11 to 20 reaches from 10.5 to 20.5
        edges = frame.assign(low=frame["low"] - 0.5, high=frame["high"] + 0.5)
        axis = place.x_axis("Expertise, 1 to 100", values=[1, 25, 50, 75, 100])
        x = x_of("low", [0, 101], axis)
        axis = place.y_axis("Share of judgments", 40, format=".0%", tickCount=4)
        y = y_of("share", [0, top], axis)
        p80 = upright(groups[place.number].ratings.p80, colour=NOTE, width=1.4)
        return alt.layer(bars(edges, x, y), p80)

    small = [
        f"n = {f.number(own.ratings.n, 0)}, median {f.number(own.ratings.median, 0)}"
        for own in groups
    ]
    titles = list(zip(names, small, strict=True))
    drawn = grid(titles, draw, columns=columns_for(len(groups), 3), left=56, height=96)
    table = pd.concat(
        [x.assign(subfield=own.subfield) for x, own in zip(frames, groups, strict=True)],
        ignore_index=True,
    )
    return make_figure("expertise", drawn, expertise_figure(groups), table)


def expertise_calibration(source: SourceResults, tables: Tables) -> Figure:
    """A panel over all and one per subfield: four bins with 95% intervals and a regression line."""
    groups = [
        (own.subfield, binned)
        for own in need(source.of(Expertise).expertise).calibration
        if (binned := present(own.binned))
    ]
    if not groups:
        raise NotEnough("Too few ratings of expertise for bins.", "Collect more judgments.")
    names = ["All" if s == OVERALL else subfield_name(s) for s, _binned in groups]
    frames = [bins_frame(binned) for subfield, binned in groups]
    domain = with_line(frames)

    def draw(place: Place) -> Drawn:
        axis = place.y_axis("Correct answers", 40, format=".0%", values=quarters(domain))
        y = y_of("accuracy", domain, axis)
        x = x_of_rank(place.x_axis("Expertise, rank", format=".0%", tickCount=2))
        return panel(frames[place.number], HUMANS, x, y)

    small = [f"n = {b.n:,}, r = {f.number(b.line.r)}" for subfield, b in groups]
    titles = list(zip(names, small, strict=True))
    drawn = grid(titles, draw, columns=columns_for(len(groups), 3), left=56, height=110)
    text = expertise_calibration_figure(
        [(name, binned) for name, (_subfield, binned) in zip(names, groups, strict=True)]
    )
    named = [x.assign(subfield=s) for x, (s, binned) in zip(frames, groups, strict=True)]
    table = bins_table(pd.concat(named))
    return make_figure("expertise_calibration", drawn, text, table)
