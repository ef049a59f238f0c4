"""The field or the answer: how much the log perplexity of originals and of altered versions fell, and the difference."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import Drawn, chart, finish, spread, upright
from analysis.charts.rows import Rows, by_family, labels
from analysis.charts.style import FULL, GAINED, INK, LOST
from analysis.codec import need, present
from analysis.presentation import figure_text
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.finetuning.results import Comparison, FineTuning, TunedModel
from analysis.stats import NotEnough
from analysis.stats.estimates import PairedTest

Compared = tuple[TunedModel, Comparison]

ORIGINAL, ALTERED = "original", "altered"
VERSION = alt.Scale(domain=[ORIGINAL, ALTERED], range=[GAINED, LOST])
DIFFERENCE = "difference"
ROW = 24  # px: two marks stand in a row


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


def finetuning_versions(source: SourceResults, tables: Tables) -> Figure:
    """Left, the fall on either version; right, the original's less the altered version's; 95% intervals."""
    pairs = [pair for pair in compared(source) if pair[0].have_one_prompt]
    if not pairs:
        raise NotEnough(
            "No tuned model and its base were given one prompt.", "Score both with the same prompt."
        )
    names = labels([model for model, _ in pairs])
    frame = pd.DataFrame([row for pair in pairs for row in _rows(pair, names)])
    rows = Rows({}, list(names.values()))
    width = (FULL - rows.width - 64) // 2
    size = {"width": width, "height": ROW * len(pairs)}
    drawn = alt.hconcat(
        _falls(frame[frame["what"] != DIFFERENCE], rows).properties(**size),
        _differences(frame[frame["what"] == DIFFERENCE], rows).properties(**size),
        spacing=16,
    )
    context = {
        "n_models": len(pairs),
        "n_items": max(model.n_items for model, _ in pairs),
        "pairs": [(names[model.name], found.nats) for model, found in pairs],
    }
    text = figure_text("finetuning_versions", context)
    table = frame.drop(columns="row")
    return Figure(
        "finetuning_versions", text.title, text.caption, text.alt, table, finish(drawn, text.alt)
    )


def _rows(pair: Compared, names: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    model, found = pair
    tests: list[tuple[str, PairedTest]] = [
        (ORIGINAL, found.nats.original),
        (ALTERED, found.nats.altered),
        (DIFFERENCE, found.nats.interaction),
    ]
    return [
        {
            "name": model.name,
            "base": model.base,
            "row": names[model.name],
            "what": what,
            "nats_per_token": test.mean_difference,
            "ci_low": test.ci95[0],
            "ci_high": test.ci95[1],
            "t": test.t,
            "df": test.df,
            "p": test.p,
        }
        for what, test in tests
    ]


def _x(frame: pd.DataFrame, title: str) -> alt.X:
    domain = list(spread([*frame["ci_low"], *frame["ci_high"]], must=(0.0,)))
    scale = alt.Scale(domain=domain, nice=False)
    return alt.X("nats_per_token:Q", scale=scale, axis=alt.Axis(title=title, tickCount=4))


def _falls(frame: pd.DataFrame, rows: Rows) -> Drawn:
    x = _x(frame, "Fall of log perplexity, nats per token")
    colour = alt.Color("what:N", scale=VERSION, legend=alt.Legend(title=None))
    layers: list[Any] = [upright(0)]
    for version, shift in ((ORIGINAL, -4), (ALTERED, 4)):
        data = chart(frame[frame["what"] == version])
        layers.append(
            data.mark_rule(strokeWidth=1.4, yOffset=shift).encode(
                x=alt.X("ci_low:Q"), x2="ci_high:Q", y=rows.y(), color=colour
            )
        )
        layers.append(data.mark_point(yOffset=shift).encode(x=x, y=rows.y(), color=colour))
    return alt.layer(*layers)


def _differences(frame: pd.DataFrame, rows: Rows) -> Drawn:
    data, y = chart(frame), rows.y(labels=False, minExtent=0, maxExtent=0)
    x = _x(frame, "Original less altered, nats per token")
    lines = data.mark_rule(strokeWidth=1.4, color=INK).encode(
        x=alt.X("ci_low:Q"), x2="ci_high:Q", y=y
    )
    return alt.layer(upright(0), lines, data.mark_point(color=INK).encode(x=x, y=y))
