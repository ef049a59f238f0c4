"""Draws the figures of the report's chapters."""

from collections.abc import Iterator

from analysis.charts.figure import Figure
from analysis.report.chapter import SourceResults, Tables
from analysis.report.contents import CHAPTERS
from analysis.stats import NotEnough


def draw_all(source: SourceResults, tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Each figure that the data support, with the id of its chapter, in the order of the page."""
    for chapter in CHAPTERS:
        for build in chapter.figure_builders().values():
            try:
                yield chapter.id, build(source, tables)
            except NotEnough:
                continue
