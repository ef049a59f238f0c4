"""People and models when participants and test cases are both a sample: crossed bootstrap."""

from collections.abc import Collection
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    flag,
    level,
    own_colour,
    points_axis,
    share_domain,
    share_x,
    spread,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, dots_with_intervals, rows_of, short
from analysis.charts.style import FULL, HUMANS, LINE, LOST, MODELS, SOFT, family_colour
from analysis.codec import need
from analysis.data.dataset import MODEL_NAME
from analysis.presentation import make_figure, plain
from analysis.report.chapter import SourceResults, Tables, need_table
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.accuracy.words import EVERYONE
from analysis.report.chapters.uncertainty.results import (
    Crossed,
    CrossedErrors,
    Differences,
    Row,
)
from analysis.report.chapters.uncertainty.words import crossed_figure, item_differences_figure
from analysis.stats.verdicts import Verdict

NUMBERS = (
    "accuracy", "difference", "low", "high", "difference_low", "difference_high",
    "two_way_low", "two_way_high", "difference_two_way_low", "difference_two_way_high",
)  # fmt: skip
ALL_MODELS, MEAN = "All models", "Mean of the models"


def crossed(source: SourceResults, tables: Tables) -> Figure:
    """Left, accuracies with crossed-bootstrap intervals; right, each model's difference from people."""
    own = need(source.of(Crossed).crossed)
    rows = rows_of(own.models, [EVERYONE] if own.humans else [])
    frame = _frame(own, rows, source.of(Accuracy).chat_models)
    ends = [*frame["low"], *frame["high"], *frame["two_way_low"], *frame["two_way_high"]]
    domain = share_domain([*ends, *frame["accuracy"]])
    x = share_x("accuracy", domain, "Correct answers")
    layers: list[Any] = [upright(CHANCE)]
    if own.humans:
        people = own.humans.accuracy
        layers.append(upright(people, colour=HUMANS, width=0.8, dash=False))
        layers.append(flag(people, "people", HUMANS))
    drawn: Drawn = alt.layer(*layers, _both_intervals(frame, "", x, rows.y())).properties(
        width=FULL - rows.width - 30, height=rows.height
    )
    differences = frame[frame["difference"].notna()]
    if len(differences):
        columns = [one for one in NUMBERS if one.startswith("difference")]
        values = [value for column in columns for value in differences[column]]
        x = x_of("difference", spread(values, must=[0]), points_axis("Model minus people"))
        y = rows.y(labels=False, minExtent=0, maxExtent=0)
        shown = _both_intervals(differences, "difference_", x, y)
        right = alt.layer(upright(0.0), flag(0.0, "no difference"), shown)
        width = (FULL - rows.width - 64) // 2
        right = right.properties(width=width, height=rows.height)
        drawn = alt.hconcat(drawn.properties(width=width), right, spacing=16)
    has_two_way = bool(frame[["two_way_low", "difference_two_way_low"]].notna().any(axis=None))
    has_chat = bool(frame["is_chat"].eq(True).any())
    text = crossed_figure(own, has_two_way=has_two_way, has_chat=has_chat)
    return make_figure("crossed", drawn, text, plain(frame))


def _frame(own: CrossedErrors, rows: Rows, chat: Collection[str]) -> pd.DataFrame:
    """A row each for people, the models and, where there are several, their mean, which is added to `rows`."""
    entries = []
    if own.human_row:
        entries.append({"row": EVERYONE, "colour": HUMANS, **_numbers(own.human_row)})
    for model, row in own.model_rows:
        entries.append(
            {
                "row": rows.label[model.name],
                **model.named,
                "family": model.family,
                "colour": family_colour(model.family),
                "is_chat": model.name in chat,
                **_numbers(row),
            }
        )
    if own.mean_row and len(own.models) > 1:
        rows.headings[ALL_MODELS] = MODELS
        rows.domain.extend([ALL_MODELS, MEAN])
        entries.append({"row": MEAN, "colour": MODELS, **_numbers(own.mean_row)})
    frame = pd.DataFrame(
        entries, columns=["row", *MODEL_NAME, "family", *NUMBERS, "colour", "is_chat"]
    )
    return frame.astype(dict.fromkeys(NUMBERS, float))


def _numbers(row: Row) -> dict[str, float | None]:
    ends = (
        row.errors.ci95,
        row.difference_errors.ci95,
        row.errors.two_way_ci95,
        row.difference_errors.two_way_ci95,
    )
    values = (row.accuracy, row.difference, *(end for pair in ends for end in pair or (None, None)))
    return dict(zip(NUMBERS, values, strict=True))


def _both_intervals(frame: pd.DataFrame, start: str, x: alt.X, y: alt.Y) -> Drawn:
    """Dots with the bootstrap's intervals; the two-way ones, where there are any, thin below them."""
    ends = {f"{start}{end}": end for end in ("low", "high")}
    ends |= {f"{start}two_way_{end}": f"two_way_{end}" for end in ("low", "high")}
    value = start.strip("_") or "accuracy"
    data = chart(frame[["row", "colour", "is_chat", value, *ends]].rename(columns=ends))
    thin = data.mark_rule(strokeWidth=0.9, yOffset=5).encode(
        x=alt.X("two_way_low:Q"), x2="two_way_high:Q", y=y, color=own_colour()
    )
    return alt.layer(thin, dots_with_intervals(data, x, y))


# --- Where people and models differ, test case by test case.

MARKED, OTHER = "differs (5% false discovery rate)", "no clear difference"
NAMED = 3  # test cases named at each end
HEIGHT = 260
NAME_HEIGHT = 14 * 2.1 / HEIGHT  # a line of text on the scale from -1.05 to 1.05
LABELS_AT = 0.3  # of the width, where the intervals have left the corner free
MOST = 3000  # dots; more are indistinguishable


def item_differences(source: SourceResults, tables: Tables) -> Figure:
    """Test cases ranked by the models' minus people's accuracy; those that differ after correction are coloured."""
    own = need(source.of(Differences).item_differences)
    items = need_table(tables, "item_differences")
    frame = items.sort_values("difference", kind="stable").reset_index(drop=True)
    frame["rank"] = frame.index + 1
    frame["kind"] = [MARKED if Verdict(one).is_clear else OTHER for one in frame["verdict"]]
    shown = frame.iloc[:: -(-len(frame) // MOST)]
    axis = alt.Axis(title="Test cases, ranked", grid=False, tickMinStep=1, format=",d")
    x = x_of("rank", [0, len(frame) + 1], axis)
    y = y_of("difference", [-1.05, 1.05], points_axis("Models minus people", grid=True))
    kinds = [k for k in (MARKED, OTHER) if (shown["kind"] == k).any()]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[{MARKED: LOST, OTHER: LINE}[k] for k in kinds]),
        legend=alt.Legend(title=None, symbolOpacity=1),
    )
    data = chart(shown.reindex(columns=["rank", "difference", "kind", "ci_low", "ci_high"]))
    bars = data.mark_rule(strokeWidth=1, opacity=0.22).encode(
        x=x, y=alt.Y("ci_low:Q"), y2="ci_high:Q", color=colour
    )
    dots = data.mark_point(size=26).encode(x=x, y=y, color=colour)
    drawn = alt.layer(level(0.0), bars, dots, *_names(frame, x, y))
    drawn = drawn.properties(width=FULL - 76, height=HEIGHT)
    text = item_differences_figure(
        own,
        n_items=len(frame),
        n_above=int((frame["difference"] > 0).sum()),
        n_drawn=len(shown) if len(shown) < len(frame) else None,
    )
    return make_figure("item_differences", drawn, text, frame)


def _names(every: pd.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Names of the outermost test cases beside the intervals, each with a line to its dot."""
    found = []
    n = len(every)
    sides: tuple[tuple[pd.DataFrame, Any, float], ...] = (
        (every, "left", LABELS_AT * n),
        (every[::-1], "right", (1 - LABELS_AT) * n),
    )
    for some, align, at in sides:
        # The first few whose names would not write over each other
        half = some.head(n // 2)
        chosen: list[int] = []
        for row, difference in enumerate(half["difference"]):
            others = half["difference"].iloc[chosen]
            if len(chosen) < NAMED and (abs(difference - others) > NAME_HEIGHT).all():
                chosen.append(row)
        names = half.iloc[chosen]
        names = names.assign(text=[short(str(item), 40) for item in names["item"]], at=at)
        data = chart(names[["rank", "difference", "text", "at"]])
        leader = data.mark_rule(strokeWidth=0.6, color=SOFT).encode(x=x, x2="at:Q", y=y)
        dx = 3 if align == "left" else -3
        words = data.mark_text(align=align, dx=dx, color=HUMANS)
        found += [leader, words.encode(x=alt.X("at:Q"), y=y, text="text:N")]
    return found
