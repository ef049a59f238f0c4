"""Stores a report: its numbers, its tables and its figures."""

from collections.abc import Callable, Iterator

from analysis import store
from analysis.models import Computation
from analysis.presentation import provenance
from analysis.report.figures import draw_all
from analysis.report.report import Report
from analysis.store import Drawing

Progress = Callable[[str], None]


def save_report(computation: Computation, report: Report, progress: Progress | None = None) -> None:
    """Files of `source_name` each; `progress` is called with each figure's name before it is drawn."""
    tables = {
        f"{source}_{name}": table
        for source, own in report.tables.items()
        for name, table in own.items()
    }
    drawings = _drawings(report, progress or (lambda _: None))
    header = report.header
    about = provenance(header.study, header.participants, header.made_at, header.data_version)
    store.save(computation, report.to_json(), drawings, tables, about)


def _drawings(report: Report, progress: Progress) -> Iterator[Drawing]:
    for source, results in report.sources.items():
        for chapter, figure in draw_all(results, report.tables.get(source, {})):
            progress(f"figure {figure.name} ({source}-created)")
            yield Drawing(figure, source, chapter)
