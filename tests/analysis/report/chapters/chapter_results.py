"""Results of chapters on given data, checked to be the same once they have been written to report.json and read."""

import html
import json
from dataclasses import replace
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import strip_tags

from analysis.charts.figure import Figure
from analysis.codec import MissingResult, to_json
from analysis.data.dataset import SourceData
from analysis.report.chapter import About, Built, Chapter, Page, SourceResults
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough

ACCURACY = chapter_named("accuracy")
CALIBRATION = chapter_named("calibration")
EXPERTISE = chapter_named("expertise")
POSITIONS = chapter_named("positions")
SENSITIVITY = chapter_named("sensitivity")
SUBFIELDS = chapter_named("subfields")

ABOUT_ACCURACY = (ACCURACY, SUBFIELDS, POSITIONS, CALIBRATION, EXPERTISE, SENSITIVITY)


def built_of(data: SourceData, chapter: Chapter) -> Built:
    """The results of the chapter, or why there are none."""
    try:
        built = chapter.build(data)
    except NotEnough as error:
        built = Built(chapter.missing(MissingResult.of(error)))
    written = json.loads(json.dumps(to_json(built.results), allow_nan=False))
    assert to_json(chapter.from_json(written)) == written
    return built


def results_of(data: SourceData, *chapters: Chapter) -> SourceResults:
    """The results of these chapters, by default of those about accuracy."""
    every = [built_of(data, chapter).results for chapter in chapters or ABOUT_ACCURACY]
    return SourceResults(data.source, {type(results): results for results in every})


def page_of(chapter: Chapter, source: SourceResults) -> tuple[Page, str]:
    """The page of the chapter, and its sentences."""
    about = About("study", is_simulated=False)
    page = chapter.page(source, about)
    return page, render_to_string("analysis/_text.html", {"text": page.text})


def said(chapter: Chapter, source: SourceResults, *others: Any) -> str:
    """The chapter's sentences on one line; `others`: results of chapters in place of the source's."""
    results = {**source.results, **{type(found): found for found in others}}
    text = strip_tags(page_of(chapter, replace(source, results=results))[1])
    return " ".join(html.unescape(text).split())


def figure_of(chapter: Chapter, built: Built, name: str = "", *others: Any) -> Figure:
    """One of the chapter's figures, by default its first; `others`: results of other chapters that it shows too."""
    figures = {draw.__name__: draw for draw in chapter.figures}
    # Which models are chat models is in the chapter on accuracy
    unknown = ACCURACY.missing(MissingResult("Not computed.", "Compute it."))
    every = (unknown, built.results, *others)
    source = SourceResults("human", {type(found): found for found in every})
    return figures[name or next(iter(figures))](source, built.tables)
