"""Stores a report: its numbers, its tables and its figures."""

from collections.abc import Callable, Iterator

from analysis import store
from analysis.charts.figure import Figure
from analysis.models import Computation
from analysis.presentation import provenance
from analysis.report.chapter import SourceResults, Tables, of_source
from analysis.report.contents import CHAPTERS
from analysis.report.report import Report
from analysis.stats import NotEnough
from analysis.store import Drawing


def draw_all(source: SourceResults, tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Each figure that the data support, with the id of its chapter, in the order of the page."""
    for chapter in CHAPTERS:
        if chapter.results not in source.results:
            continue
        for draw in chapter.figures:
            try:
                yield chapter.id, draw(source, tables)
            except NotEnough:
                continue


Progress = Callable[[str], None]


def save_report(computation: Computation, report: Report, progress: Progress | None = None) -> None:
    """Files of `source_name` each; `progress` is called with each figure's name before it is drawn."""

    def drawings() -> Iterator[Drawing]:
        for results in (*report.sources.values(), report.of_study):
            for chapter, figure in draw_all(results, report.tables.get(results.source, {})):
                if progress:
                    progress(f"figure {figure.name}{of_source(results.source)}")
                yield Drawing(figure, results.source, chapter)

    tables = {
        f"{source}_{name}": table
        for source, own in report.tables.items()
        for name, table in own.items()
    }
    header = report.header
    about = provenance(header.study, header.participants, header.made_at, header.data_version)
    store.save(computation, report.to_json(), drawings(), tables, about)
