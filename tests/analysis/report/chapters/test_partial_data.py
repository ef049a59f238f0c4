"""Every chapter of data that are partial: results, a page and figures, or what is missing and what it takes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.charts import save
from analysis.data.dataset import SourceData
from analysis.report.chapter import Chapter, SourceResults, Tables
from analysis.report.contents import CHAPTERS
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import ACCURACY, built_of, page_of

PARTIAL: dict[str, dict[str, Callable[[SourceData], Any]]] = {
    "no trial": {"trials": lambda d: d.trials.iloc[:0]},
    "one trial": {"trials": lambda d: d.trials.iloc[:1]},
    "trials of one item": {"trials": lambda d: d.trials[d.trials["item"] == d.trials["item"][0]]},
    "trials of one person": {"trials": lambda d: d.trials[d.trials["participant"] == 0]},
    "no model": {"full": lambda d: d.full.iloc[:0]},
    "one model, no sentences": {
        "full": lambda d: d.full[d.full["model"] == 0],
        "isolated": lambda d: d.isolated.iloc[:0],
    },
    "nothing": {"trials": lambda d: d.trials.iloc[:0], "full": lambda d: d.full.iloc[:0]},
    **{
        f"{column} {value}": {
            "trials": lambda d, c=column, v=value: d.trials.assign(**{c: v})
        }
        for column, value in (
            ("is_correct", True), ("is_correct", False), ("confidence", 50.0), ("confidence", np.nan),
            ("expertise", np.nan), ("slider_moved", False), ("rt_ms", np.nan),
        )
    },
}  # fmt: skip


def draw(chapter: Chapter, source: SourceResults, tables: Tables) -> None:
    """Each figure has rows, or says why not."""
    for build in chapter.figures:
        try:
            figure = build(source, tables)
        except NotEnough as error:
            assert error.reason.endswith(".")
            assert error.needed.endswith(".")
        else:
            assert len(figure.table) > 0
            assert save.specification(figure)["datasets"]


# The others in the sweep: all chapters take some seconds
EVERY_RUN = ("nothing", "one trial", "one model, no sentences", "is_correct True")


@pytest.mark.parametrize(
    "change",
    [pytest.param(c, marks=[] if c in EVERY_RUN else [pytest.mark.sweep]) for c in PARTIAL],
)
def test_a_chapter_of_partial_data_has_results_and_a_page_or_says_what_is_missing(
    small: SourceData, change: str
) -> None:
    changes = {name: make(small) for name, make in PARTIAL[change].items()}
    data = replace(small, resamples=20, **changes)
    accuracy = built_of(data, ACCURACY).results
    n_built = 0
    for chapter in CHAPTERS:
        if chapter.id == "teams":  # they have tests of their own, and take long
            continue
        built = built_of(data, chapter)
        source = SourceResults("human", {type(own): own for own in (accuracy, built.results)})
        missing = chapter.missing_in(source)
        draw(chapter, source, built.tables)
        if None in missing:
            page_of(chapter, source)
            n_built += 1
        for why in missing:
            assert why is None or (why.reason.endswith(".") and why.needed.endswith("."))
    assert n_built > 0 or change == "nothing"
