"""What the mixed model says about people: their accuracy, and how much people and test cases vary."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
from django.utils.translation import gettext_lazy as _

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    finish,
    flag,
    share_domain,
    share_x,
    spread,
    upright,
)
from analysis.charts.rows import Rows, dots_with_intervals
from analysis.charts.style import FULL, HUMANS
from analysis.codec import need, present
from analysis.presentation import figure_text
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.mixed_model.results import Mixed, RandomEffects
from analysis.stats.estimates import Proportion

TYPICAL, MARGINAL, OBSERVED = (
    _("Typical person and test case"),
    _("Over all people and test cases"),
    _("As observed"),
)
PEOPLE, ITEMS = _("Between people"), _("Between test cases")


def mixed_model(source: SourceResults, tables: Tables) -> Figure:
    """Left, accuracies that the model implies beside the observed one; right, the standard deviations of log-odds."""
    own = need(source.of(Mixed).mixed_model)
    humans = present(source.of(Accuracy).humans)
    frame = _frame(own, humans.trials if humans else None)
    text = figure_text("mixed_model", {"own": own})
    table = frame.drop(columns="colour").rename(
        columns={"low": "ci_low", "high": "ci_high", "row": "what"}
    )
    drawn = finish(_chart(frame), text.alt)
    return Figure("mixed_model", text.title, text.caption, text.alt, table, drawn)


FIGURES: Mapping[str, FigureBuilder] = {"mixed_model": mixed_model}


def _frame(own: RandomEffects, observed: Proportion | None) -> pd.DataFrame:
    rows = [
        ("accuracy", TYPICAL, own.accuracy_typical, own.accuracy_typical_ci95),
        ("accuracy", MARGINAL, own.accuracy_marginal, own.accuracy_marginal_ci95),
        *([("accuracy", OBSERVED, observed.accuracy, observed.ci95)] if observed else []),
        ("sd", PEOPLE, own.sd_participants, own.sd_participants_ci95),
        ("sd", ITEMS, own.sd_items, own.sd_items_ci95),
    ]
    frame = pd.DataFrame(
        [(measure, str(row), value, *(ci95 or (None, None))) for measure, row, value, ci95 in rows],
        columns=["measure", "row", "value", "low", "high"],
    ).astype({"value": float, "low": float, "high": float})
    return frame.dropna(subset=["value"]).assign(colour=HUMANS)


def _chart(frame: pd.DataFrame) -> Drawn:
    blocks = []
    for measure in ("accuracy", "sd"):
        some = frame[frame["measure"] == measure]
        rows = Rows({}, some["row"].tolist())
        ends = [*some["low"], *some["high"], *some["value"]]
        if measure == "accuracy":
            x = share_x("value", share_domain(ends), "Correct answers")
            lines = [upright(CHANCE), flag(CHANCE, "chance")]
        else:
            high = spread(ends, must=[0])[1]
            axis = alt.Axis(title="Standard deviation, log-odds", tickCount=5)
            x = alt.X(
                "value:Q", scale=alt.Scale(domain=[-0.03 * high, high], nice=False), axis=axis
            )
            lines = []
        block = alt.layer(*lines, dots_with_intervals(chart(some), x, rows.y()))
        width = int((FULL - 40) / 2) - rows.width
        blocks.append(block.properties(width=width, height=24 * 3))
    return alt.hconcat(*blocks, spacing=24)
