"""The table of judge and people as a picture."""

from fractions import Fraction
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    intervals,
    note,
    own_fill,
    own_stroke,
    quarters,
    share_axis,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import labels
from analysis.charts.style import INK, PALE, SOFT
from analysis.codec import need
from analysis.presentation import make_figure
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.graded_agreement.results import (
    RATES,
    Confusion,
    GradedAgreement,
    Thresholds,
    Varied,
)
from analysis.report.chapters.graded_agreement.words import (
    NAMES,
    confusion_figure,
    corrected_figure,
    thresholds_figure,
)
from analysis.report.chapters.graded_rates.drawing import colours, heat, rows_of
from analysis.report.chapters.graded_rates.results import GradedRates
from analysis.stats.graded.sensitivity import Abstaining
from lib.formatting import MINUS, percent

CELL = 44  # px


def graded_confusion(source: SourceResults, tables: Tables) -> Figure:
    """A cell for each two grades: how many answers; shaded by its share of what people gave that grade."""
    own = need(source.of(GradedAgreement).graded_agreement)
    table = need(own.confusion)
    counts = np.array(table.counts)
    total = counts.sum(axis=0)
    rows = [
        {
            "judge_points": judge,
            "human_points": human,
            "n": int(counts[i, j]),
            "share": float(counts[i, j] / total[j]) if total[j] else np.nan,
            "x": j,
            "x2": j + 1,
            "y": len(table.values) - i,
            "y2": len(table.values) - i - 1,
        }
        for i, judge in enumerate(table.values)
        for j, human in enumerate(table.values)
    ]
    cells = pd.DataFrame(rows)
    shown = cells[["judge_points", "human_points", "n", "share"]]
    text = confusion_figure(own, table)
    return make_figure("graded_confusion", _chart(cells, table), text, shown)


def _chart(cells: pd.DataFrame, table: Confusion) -> Drawn:
    k = len(table.values)
    x, y = x_of("x", [0, k], None), y_of("y", [k, 0], None)
    known = cells[cells["n"] > 0]
    box: dict[str, Any] = {"x": x, "x2": "x2:Q", "y": y, "y2": "y2:Q"}
    frame = chart(cells).mark_rect(color="white", stroke=PALE).encode(**box)
    colour = heat("share", "Share of the column")
    shaded = chart(known).mark_rect(stroke="white").encode(**box, color=colour)
    words = known.assign(
        x=known["x"] + 0.5,
        y=known["y"] - 0.5,
        ink=["white" if share > 0.55 else INK for share in known["share"]],
    )
    ink = alt.Color("ink:N", scale=None, legend=None)
    numbers = chart(words).mark_text().encode(
        x=x, y=y, text=alt.Text("n:Q", format=",d"), color=ink
    )  # fmt: skip
    # Grades beside and below, abstention by its name, and whose they are
    names = ["abstained" if v < 0 else f"{v:g}".replace("-", MINUS) for v in table.values]
    below = chart(pd.DataFrame({"x": [n + 0.5 for n in range(k)], "name": names}))
    beside = chart(pd.DataFrame({"y": [k - n - 0.5 for n in range(k)], "name": names}))
    width, height = CELL * k, CELL * 0.62 * k
    centred: dict[str, Any] = {"colour": INK, "align": "center"}
    axes = [
        below.mark_text(baseline="top").encode(
            x=alt.X("x:Q"), y=alt.value(height + 5), text="name:N"
        ),
        beside.mark_text(align="right", dx=-6).encode(
            x=alt.value(0), y=alt.Y("y:Q"), text="name:N"
        ),
        note("Points by people", width / 2, height + 22, **centred, baseline="top"),
        note("Points by the judge", -62, height / 2, **centred, baseline="bottom", angle=270),
    ]
    drawn = alt.layer(frame, shaded, numbers, *axes)
    return drawn.properties(width=width, height=height)


# --- Rates freed of the judge's errors, and under other thresholds, as pictures.

# By whom, in px above or below the middle of a row
WHOSE = {"judge": -6, "people": 0, "corrected": 6}
TALL = 28  # px of a row with three marks
COLOURS = {"rqr": "#0072b2", "sr": "#c44f00", "ar": SOFT}
BESIDE = 0.2  # of the way from one threshold to the next, by which the rates stand apart
HEIGHT = 130
READINGS = {
    Abstaining.NEGATIVE: "below 0",
    Abstaining.UNPARSED: "unreadable",
    Abstaining.NO_TEXT: "no text",
}


def graded_corrected(source: SourceResults, tables: Tables) -> Figure:
    """A row for each model, a panel for each rate: by the judge, by people's sample, and corrected."""
    own = need(source.of(GradedAgreement).graded_corrected)
    rows, colour = rows_of(own.models), colours(own.models)
    lines: list[tuple[object, ...]] = []
    for model in own.models:
        about = model.name, rows.label[model.name], colour[model.name]
        for rate in RATES:
            found = getattr(model.found, rate)
            if found is None:
                continue
            for whose, one in (("judge", found.judge), ("people", found.human), ("corrected", found)):  # fmt: skip
                lines.append((*about, rate, whose, one.value, *(one.ci95 or (np.nan, np.nan))))
    columns = ["name", "row", "colour", "rate", "whose", "value", "low", "high"]
    frame = pd.DataFrame(lines, columns=columns)

    def draw(place: Place) -> Drawn:
        rate = RATES[place.number]
        x = x_of("value", [0, 1], share_axis("", grid=True))
        y = rows.y() if place.first else rows.y(labels=False, minExtent=0, maxExtent=0)
        layers: list[Any] = []
        for whose, off in WHOSE.items():
            data = chart(frame[(frame["rate"] == rate) & (frame["whose"] == whose)])
            look: dict[str, Any] = {"shape": "diamond" if whose == "people" else "circle"}
            fill = alt.value("white") if whose == "judge" else own_fill()
            wide = 2 if whose == "corrected" else 1
            points = data.mark_point(size=34, strokeWidth=1.2, yOffset=off, **look)
            layers += [
                intervals(data, y, strokeWidth=wide, yOffset=off),
                points.encode(x=x, y=y, fill=fill, stroke=own_stroke()),
            ]
        return alt.layer(*layers)

    titles = [(NAMES[rate], "") for rate in RATES]
    drawn = grid(titles, draw, columns=3, left=rows.width, height=TALL * len(rows.domain))
    table = frame[["name", "rate", "whose", "value", "low", "high"]]
    return make_figure("graded_corrected", drawn, corrected_figure(own), table)


def graded_thresholds(source: SourceResults, tables: Tables) -> Figure:
    """A panel for each: the rates from each threshold of points on, and by each reading of abstentions."""
    own = need(source.of(GradedAgreement).graded_thresholds)
    # Where a case stands on the axis: thresholds of the rubric's own reading, then other readings
    places = {(Abstaining.RUBRIC.value, round(share, 9)): n for n, share in enumerate(own.shares)}
    frame = _thresholds(own, places)
    titles = [(label, "") for label in labels(own.models).values()]
    columns = columns_for(len(titles), 4)
    n = len(own.shares)
    ticks = []
    for share in own.shares:  # as people write them: 2/3; else in per cent
        near = Fraction(share).limit_denominator(8)
        is_near = abs(float(near) - share) <= 1e-6
        written = "all" if near == 1 else str(near)
        ticks.append(written if is_near else percent(share, 0))
    ticks += READINGS.values()

    def draw(place: Place) -> Drawn:
        data = frame[frame["name"] == own.models[place.number].name]
        named = f"{ticks!r}[datum.value]"
        axis = place.x_axis(
            "", values=list(range(len(ticks))), labelExpr=named, labelAngle=-60, labelOverlap=False
        )
        x = x_of("x", [-0.6, len(ticks) - 0.4], axis)
        axis = place.y_axis("Share", format=".0%", values=quarters([0, 1]))
        y = y_of("value", [0, 1], axis)
        key = alt.Color(
            "rate_name:N",
            scale=alt.Scale(domain=list(NAMES.values()), range=[COLOURS[rate] for rate in RATES]),
            legend=alt.Legend(title=None, orient="top", symbolType="circle"),
        )
        layers: list[Any] = [
            upright(n - 0.5),
            chart(data).mark_rule(strokeWidth=1.2).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=key),
            chart(data[~data["is_rule"]]).mark_point(size=14, filled=False, fill="white").encode(x=x, y=y, color=key),
            chart(data[data["is_rule"]]).mark_point(size=26, filled=True).encode(x=x, y=y, color=key),
        ]  # fmt: skip
        return alt.layer(*layers)

    drawn = grid(titles, draw, columns=columns, left=48, height=HEIGHT)
    table = frame[["name", "good_from", "abstaining", "rate", "value", "low", "high"]]
    text = thresholds_figure(own, need(source.of(GradedRates).graded_rates).n_questions)
    return make_figure("graded_thresholds", drawn, text, table)


def _thresholds(own: Thresholds, places: dict[tuple[str, float], int]) -> pd.DataFrame:
    lines = []
    for model in own.models:
        # Thresholds of points, and behind them other definitions of abstention
        after = {how.value: len(places) + n for n, how in enumerate(READINGS)}
        shown = [
            (places[one.abstaining, round(one.good_from, 9)], one)
            for one in model.thresholds
            if one.abstaining == Abstaining.RUBRIC
        ]
        shown += [(after[one.abstaining], one) for one in model.readings if not one.is_rule]
        for place, one in shown:
            for n, rate in enumerate(RATES):
                found: Varied | None = getattr(one, rate)
                if found is None:
                    continue
                low, high = found.ci95
                lines.append(
                    {
                        "name": model.name,
                        "good_from": one.good_from,
                        "abstaining": one.abstaining,
                        "is_rule": one.is_rule,
                        "rate": rate,
                        "rate_name": NAMES[rate],
                        "x": place + BESIDE * (n - 1),
                        "value": found.value,
                        "low": low,
                        "high": high,
                    }
                )
    return pd.DataFrame(lines)
