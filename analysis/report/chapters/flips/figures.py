"""Whether a model's preference changes sides on the way through a text, by token and by sentence."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
from django.utils.translation import gettext_lazy as _

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, own_colour, spread
from analysis.charts.rows import Rows, rows_of
from analysis.charts.style import FULL, GAINED, INK, LOST, family_colour
from analysis.codec import need
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.flips.courses import RATIO, SENTENCE, TOKEN
from analysis.report.chapters.flips.results import ChangesOfMind, ModelFlips
from analysis.report.chapters.flips.traces import flips_traces
from analysis.report.chapters.flips.trajectories import flips_trajectories
from analysis.stats.flips import Flips

FAVOURS = _("Version that the difference favours")
BOTH_ORIGINAL = _("original first and last")
CATEGORIES = {
    "PosPos": BOTH_ORIGINAL,
    "NegPos": _("altered first, original last"),
    "PosNeg": _("original first, altered last"),
    "NegNeg": _("altered first and last"),
}
COLOURS = [GAINED, "#8fc1e3", "#f3b98c", LOST]
LEVELS = {
    TOKEN: _("By token"),
    SENTENCE: _("By sentence"),
    RATIO: _("By token, log-likelihood ratio (ours)"),
}
CORRECT, WRONG = _("decision right"), _("decision wrong")
MEASURES = ["measure", "category", "n", "value", "low", "high"]


def flips(source: SourceResults, tables: Tables) -> Figure:
    """Left, shares of test cases by first and last sign; right, mean number of changes with 95% intervals."""
    models = need(source.of(ChangesOfMind).flips).models
    rows = rows_of(models)
    levels = [level for level in LEVELS if any(level in m.levels for m in models)]
    frame = pd.concat(
        [_frame(m, level, rows) for m in models for level in levels if level in m.levels]
    )
    shares = frame[frame["measure"] == "share"]
    changes = frame[frame["measure"] == "changes"]
    blocks = [_block(shares, changes, rows, k, keys=k == levels[0]) for k in levels]
    both = shares[(shares["category"] == str(BOTH_ORIGINAL)) & (shares["level"] == TOKEN)]
    ratios = [m.log_likelihood_ratio for m in models if m.log_likelihood_ratio]
    context = {
        "n_models": len(models),
        "n_items": max(m.n_items for m in models),
        "both_original": both["value"].mean(),
        "n_end_disagrees": sum(ratio.n_end_disagrees for ratio in ratios),
        "n_decisions": sum(ratio.n_items for ratio in ratios),
    }
    text = figure_text("flips", context)
    table = frame.drop(columns="colour").rename(columns={"low": "ci_low", "high": "ci_high"})
    drawn = finish(alt.vconcat(*blocks, spacing=20), text.alt)
    return Figure("flips", text.title, text.caption, text.alt, table, drawn)


FIGURES: Mapping[str, FigureBuilder] = {
    "flips": flips,
    "flips_traces": flips_traces,
    "flips_trajectories": flips_trajectories,
}


def _frame(model: ModelFlips, level: str, rows: Rows) -> pd.DataFrame:
    frame = pd.DataFrame(_measures(model.levels[level]), columns=MEASURES)
    return frame.assign(
        name=model.name,
        level=level,
        row=rows.label[model.name],
        colour=family_colour(model.family),
    )


def _measures(found: Flips) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = [
        {
            "measure": "share",
            "category": str(text),
            "n": (n := getattr(found.counts, name)),
            "value": n / found.n_items,
        }
        for name, text in CATEGORIES.items()
    ]
    for category, mean in ((CORRECT, found.sign_flips.correct), (WRONG, found.sign_flips.wrong)):
        if mean is not None:
            low, high = mean.ci95 or (None, None)
            row = {"n": mean.n, "value": mean.mean, "low": low, "high": high}
            shown.append({"measure": "changes", "category": str(category), **row})
    return shown


def _block(
    shares: pd.DataFrame, changes: pd.DataFrame, rows: Rows, level: str, *, keys: bool
) -> Drawn:
    width = (FULL - rows.width - 60) // 2
    some = shares[shares["level"] == level]
    title = alt.TitleParams(
        str(LEVELS[level]), color=INK, fontSize=11, anchor="start", frame="group", dx=-rows.width
    )
    left = _bars(some, rows, keys).properties(width=width, height=rows.height, title=title)
    low, high = spread([*changes["low"], *changes["high"], *changes["value"]], must=[0])
    domain = (max(low, 0.0), high)  # of all levels: panels compare
    right = _changes(changes[changes["level"] == level], rows, domain, keys).properties(
        width=width, height=rows.height
    )
    return alt.hconcat(left, right, spacing=24).resolve_scale(
        color="independent", shape="independent"
    )


def _bars(shares: pd.DataFrame, rows: Rows, keys: bool) -> Drawn:
    # Stacked here, so that the table and the bars cannot disagree
    end = shares.groupby("row", sort=False)["value"].cumsum()
    colour = alt.Color(
        "category:N",
        scale=alt.Scale(domain=[str(text) for text in CATEGORIES.values()], range=COLOURS),
        legend=alt.Legend(title=str(FAVOURS), titleOrient="top", columns=2, symbolType="square")
        if keys
        else None,
    )
    return (
        chart(shares.assign(start=end - shares["value"], end=end))
        .mark_bar(height={"band": 0.72})
        .encode(
            x=alt.X(
                "start:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title=str(_("Test cases")), format=".0%", tickCount=5),
            ),
            x2="end:Q",
            y=rows.y(),
            color=colour,
        )
    )


def _changes(frame: pd.DataFrame, rows: Rows, domain: tuple[float, float], keys: bool) -> Drawn:
    y = rows.y(labels=False, minExtent=0, maxExtent=0)
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=list(domain), nice=False, clamp=True),
        axis=alt.Axis(title=str(_("Changes of sign per test case")), tickCount=5),
    )
    shape = alt.Shape(
        "category:N",
        scale=alt.Scale(domain=[str(CORRECT), str(WRONG)], range=["circle", "cross"]),
        legend=alt.Legend(title=None, columns=1, symbolFillColor=INK, symbolStrokeWidth=0)
        if keys
        else None,
    )
    layers: list[alt.Chart] = []
    for category, shift in ((CORRECT, -3), (WRONG, 3)):
        data = chart(frame[frame["category"] == str(category)])
        rule = data.mark_rule(strokeWidth=1.1, yOffset=shift).encode(
            x=alt.X("low:Q"), x2="high:Q", y=y, color=own_colour()
        )
        dots = data.mark_point(size=34, yOffset=shift)
        layers += [rule, dots.encode(x=x, y=y, color=own_colour(), shape=shape)]
    return alt.layer(*layers)
