"""Accuracy and perplexity before and after tuning (the paper's figure 5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from analysis import columns as c
from analysis.charts.figure import Figure, Place, columns_for, grid
from analysis.charts.marks import (
    Drawn,
    chart,
    intervals,
    log_scale,
    note,
    share_domain,
    share_x,
    spread,
    upright,
    x_of,
    y_of,
)
from analysis.charts.rows import Rows, by_family, labels
from analysis.charts.style import FULL, GAINED, INK, LOST, SOFT
from analysis.codec import need, present
from analysis.presentation import make_figure
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.finetuning.results import Comparison, FineTuning, TunedModel
from analysis.report.chapters.finetuning.words import finetuning_figure, versions_figure
from analysis.stats import NotEnough
from analysis.stats.estimates import PairedTest
from lib.formatting import number, p_value

Compared = tuple[TunedModel, Comparison]

BEFORE, AFTER = "before", "after"
WHEN = alt.Scale(domain=[BEFORE, AFTER], range=["#9aa5b1", "#0072b2"])
TICKS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000]
TABLE = (
    *c.model("0"),
    *c.data("base=0.base", "base_display_name=0.base_display_name", "n_items=0.n_items"),
    *c.data("accuracy_before=1.before.accuracy", "sem_before=1.before.sem"),
    *c.data(
        "accuracy_after=1.after.accuracy", "sem_after=1.after.sem", "accuracy_method=1.after.method"
    ),
    *c.data("family=0.family", "mcnemar_gained=1.mcnemar.gained"),
    *c.data("mcnemar_lost=1.mcnemar.lost", "mcnemar_p=1.mcnemar.p"),
)
PPL = c.data("before_mean", "after_mean", "t=test.t", "df=test.df", "p=test.p", "d_av=test.d_av")
POINTS = 80  # of a density's curve


def compared(source: SourceResults) -> list[Compared]:
    """By family; raises NotEnough where no pair can be compared."""
    models = by_family(need(source.of(FineTuning).finetuning))
    found = [(model, own) for model in models if (own := present(model.comparison))]
    if not found:
        raise NotEnough(
            "No tuned model shares enough test cases with its base.",
            "Score both on the same test cases.",
        )
    return found


def finetuning(source: SourceResults, tables: Tables) -> Figure:
    """Above, accuracies before and after with 95% intervals; below, the distributions of the original texts' perplexity."""
    pairs = compared(source)
    names = labels([model for model, _ in pairs])
    accuracies = [
        {
            "row": names[model.name],
            "base": model.base_label,
            "when": when,
            "accuracy": share.accuracy,
            "low": share.ci95[0],
            "high": share.ci95[1],
            "mcnemar": p,
        }
        for model, found in pairs
        for when, share, p in (
            (BEFORE, found.before, ""),
            (AFTER, found.after, p_value(found.mcnemar.p)),
        )
    ]
    frame = pd.DataFrame(accuracies)
    rows = Rows({}, list(names.values()))
    x = share_x("accuracy", share_domain([*frame["low"], *frame["high"]], ()), "Correct answers")
    colour = alt.Color("when:N", scale=WHEN, legend=alt.Legend(title=None))
    layers: list[Any] = []
    for when, shift in ((BEFORE, -4), (AFTER, 4)):
        data = chart(frame[frame["when"] == when])
        lines = intervals(data, rows.y(), colour, strokeWidth=1.4, yOffset=shift)
        dots = data.mark_point(yOffset=shift).encode(x=x, y=rows.y(), color=colour)
        layers += [lines, dots]
    tested = chart(frame[frame["when"] == AFTER]).mark_text(align="left", dx=8, color=SOFT)
    layers.append(tested.encode(y=rows.y(), x=alt.value("width"), text="mcnemar:N"))
    layers.append(note("McNemar", "width", -4, align="left", baseline="bottom", dx=8))
    width = FULL - rows.width - 84
    blocks: list[Any] = [alt.layer(*layers).properties(width=width, height=24 * len(names))]
    with_one_prompt = [pair for pair in pairs if pair[0].have_one_prompt]
    if with_one_prompt and "finetuning_items" in tables:
        blocks.append(_densities(with_one_prompt, names, tables["finetuning_items"]))
    drawn = alt.vconcat(*blocks, spacing=18).resolve_scale(color="shared")

    # The tests of perplexity have "ppl" before their names, and are of one prompt alone
    ppl = c.tidy(PPL, [found.ppl_correct for _, found in pairs])
    ppl = ppl.where(pd.Series([model.have_one_prompt for model, _ in pairs])).add_prefix("ppl_")
    table = pd.concat([c.tidy(TABLE, pairs), ppl], axis=1)
    return make_figure("finetuning", drawn, finetuning_figure(pairs, names), table)


def _densities(pairs: Sequence[Compared], names: Mapping[str, str], items: pd.DataFrame) -> Drawn:
    # Densities over the logarithm of perplexity, before and after, on one grid
    curves = []
    for model, _ in pairs:
        own = items[items["name"] == model.name]
        logs = {
            when: np.log(own[column].dropna().to_numpy(dtype=float))
            for when, column in ((BEFORE, "ppl_before"), (AFTER, "ppl_after"))
        }
        logs = {when: x for when, x in logs.items() if len(x) > 1 and np.ptp(x) > 0}
        parts = [pd.DataFrame({"ppl": [], "density": [], "when": []})]
        if logs:
            both = np.concatenate(list(logs.values()))
            at = np.linspace(both.min() - 0.1, both.max() + 0.1, POINTS)
            parts = [
                pd.DataFrame({"ppl": np.exp(at), "density": gaussian_kde(x)(at), "when": when})
                for when, x in logs.items()
            ]
        curves.append(pd.concat(parts))
    spans = [c["ppl"] for c in curves if len(c)]
    top = max((float(c["density"].max()) for c in curves if len(c)), default=1.0)
    # A curve needs values that differ
    every = np.concatenate(spans) if spans else np.array([1.0, 10.0])
    domain = [float(every.min()), float(every.max())]

    def draw(place: Place) -> Drawn:
        axis = place.x_axis("Perplexity of the original", values=TICKS, labelOverlap="greedy")
        x = alt.X("ppl:Q", scale=log_scale(domain), axis=axis)
        axis = alt.Axis(title="Density" if place.first else None, labels=False, grid=False)
        colour = alt.Color("when:N", scale=WHEN, legend=None)
        line = chart(curves[place.number]).mark_line(strokeWidth=1.8)
        return line.encode(x=x, y=y_of("density", [0, top], axis), color=colour)

    titles = [
        (names[model.name], f"d = {number(found.ppl_correct.test.d_av)}") for model, found in pairs
    ]
    left = Rows({}, list(names.values())).width  # below the accuracies' plot
    return grid(titles, draw, columns=columns_for(len(pairs), 4), left=left, height=80)


# --- The field or the answer: how much the log perplexity of originals and of altered versions fell, and the difference.

ORIGINAL, ALTERED = "original", "altered"
VERSION = alt.Scale(domain=[ORIGINAL, ALTERED], range=[GAINED, LOST])
DIFFERENCE = "difference"
ROW = 24  # px: two marks stand in a row


def finetuning_versions(source: SourceResults, tables: Tables) -> Figure:
    """Left, the fall on either version; right, the original's less the altered version's; 95% intervals."""
    pairs = [pair for pair in compared(source) if pair[0].have_one_prompt]
    if not pairs:
        raise NotEnough(
            "No tuned model and its base were scored with the same prompt.",
            "Score both with the same prompt.",
        )
    names = labels([model for model, _ in pairs])
    frame = pd.DataFrame([row for pair in pairs for row in _rows(pair, names)])
    rows = Rows({}, list(names.values()))
    colour = alt.Color("what:N", scale=VERSION, legend=alt.Legend(title=None))

    of_versions = frame[frame["what"] != DIFFERENCE]
    x = _x(of_versions, "Fall of log perplexity, nats per token")
    falls: list[Any] = [upright(0)]
    for version, shift in ((ORIGINAL, -4), (ALTERED, 4)):
        data = chart(of_versions[of_versions["what"] == version])
        lines = data.mark_rule(strokeWidth=1.4, yOffset=shift)
        falls += [
            lines.encode(x=alt.X("ci_low:Q"), x2="ci_high:Q", y=rows.y(), color=colour),
            data.mark_point(yOffset=shift).encode(x=x, y=rows.y(), color=colour),
        ]

    # The difference is far smaller than what it is a difference of, so it has an axis of its own
    differences = frame[frame["what"] == DIFFERENCE]
    x = _x(differences, "Original minus altered, nats per token")
    data, y = chart(differences), rows.y(labels=False, minExtent=0, maxExtent=0)
    lines = data.mark_rule(strokeWidth=1.4, color=INK)
    difference = alt.layer(
        upright(0),
        lines.encode(x=alt.X("ci_low:Q"), x2="ci_high:Q", y=y),
        data.mark_point(color=INK).encode(x=x, y=y),
    )
    size = {"width": (FULL - rows.width - 64) // 2, "height": ROW * len(pairs)}
    drawn = alt.hconcat(
        alt.layer(*falls).properties(**size), difference.properties(**size), spacing=16
    )
    text = versions_figure(pairs, names)
    return make_figure("finetuning_versions", drawn, text, frame.drop(columns="row"))


def _rows(pair: Compared, names: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    model, found = pair
    tests: list[tuple[str, PairedTest]] = [
        (ORIGINAL, found.nats.original),
        (ALTERED, found.nats.altered),
        (DIFFERENCE, found.nats.interaction),
    ]
    return [
        {
            **model.named,
            "base": model.base,
            "row": names[model.name],
            "what": what,
            "nats_per_token": test.mean_difference,
            "ci_low": low,
            "ci_high": high,
            "t": test.t,
            "df": test.df,
            "p": test.p,
        }
        for what, test in tests
        for low, high in [test.ci95 or (np.nan, np.nan)]
    ]


def _x(frame: pd.DataFrame, title: str) -> alt.X:
    domain = spread([*frame["ci_low"], *frame["ci_high"]], must=(0.0,))
    return x_of("nats_per_token", domain, alt.Axis(title=title, tickCount=4))
