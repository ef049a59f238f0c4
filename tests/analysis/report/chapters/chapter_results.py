"""Results of chapters on given data, checked to be the same once they have been written to report.json and read."""

import json
from typing import Any

import pytest

from analysis.charts.figure import Figure
from analysis.codec import MissingResult, to_json
from analysis.data.dataset import SourceData
from analysis.presentation import render_meaning
from analysis.report.chapter import About, Built, Chapter, Page, SourceResults
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough

ACCURACY = chapter_named("accuracy")
CALIBRATION = chapter_named("calibration")
EXPERTISE = chapter_named("expertise")
POSITIONS = chapter_named("positions")
SENSITIVITY = chapter_named("sensitivity")
SUBFIELDS = chapter_named("subfields")

# What a paired test is called in the reference
TEST = {
    "n": "n",
    "df": "dof",
    "mean_difference": "mean_diff",
    "sd_difference": "sd_diff",
    "t": "t",
    "p": "p_two_sided",
    "d_av": "cohen_d_pingouin_dav",
    "d_z": "cohen_dz",
    "ci95": "ci95",
}
ABOUT_ACCURACY = (ACCURACY, SUBFIELDS, POSITIONS, CALIBRATION, EXPERTISE, SENSITIVITY)


def results_of(data: SourceData, *chapters: Chapter) -> SourceResults:
    """The results of these chapters, by default of those about accuracy."""
    results: dict[type[Any], Any] = {}
    for chapter in chapters or ABOUT_ACCURACY:
        try:
            found = chapter.build(data).results
        except NotEnough as error:
            found = chapter.missing(MissingResult.of(error))
        written = json.loads(json.dumps(to_json(found), allow_nan=False))
        assert to_json(chapter.from_json(written)) == written
        results[chapter.results] = found
    return SourceResults(data.source, results)


def same_test(found: Any, reference: dict[str, Any]) -> None:
    for ours, theirs in TEST.items():
        assert getattr(found, ours) == pytest.approx(reference[theirs], rel=1e-9), ours


def page_of(chapter: Chapter, source: SourceResults) -> tuple[Page, str]:
    """What the chapter shows, and its sentences."""
    about = About("study", is_simulated=False)
    page = chapter.page(source, about)
    return page, render_meaning(chapter.template, {"about": about, **page.context})


def figure_of(chapter: Chapter, built: Built, name: str = "", *others: Any) -> Figure:
    """One of the chapter's figures, by default its first; `others`: results of other chapters that it shows too."""
    figures = chapter.figure_builders()
    # Which models are chat models is in the chapter on accuracy
    unknown = ACCURACY.missing(MissingResult("Not computed.", "Compute it."))
    every = (unknown, built.results, *others)
    source = SourceResults("human", {type(found): found for found in every})
    return figures[name or next(iter(figures))](source, built.tables)


def approximately(one: Any, other: Any) -> bool:
    """Whether two results are equal but for the order in which numbers were added up."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(approximately(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(approximately, one, other))
    if isinstance(one, float):
        return bool(one == pytest.approx(other))
    return bool(one == other)
