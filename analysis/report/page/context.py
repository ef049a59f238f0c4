"""What the report's templates are given, on the page and in the file."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from analysis.presentation import FigureView
from analysis.report.headline import headlines
from analysis.report.page.sections import LinkTable, no_link, sections, source_label
from analysis.report.stored import StoredReport
from analysis.store import StoredFigure


def report_context(
    stored: StoredReport,
    view: Callable[[StoredFigure], FigureView],
    link_table: LinkTable = no_link,
) -> dict[str, Any]:
    """`view` says where the page finds a figure's picture, `link_table` where a table's file."""
    header = stored.report.header
    figures: dict[str, dict[str, list[FigureView]]] = {}
    for figure in stored.figures:
        own = figures.setdefault(figure.source, {})
        own.setdefault(figure.chapter, []).append(view(figure))
    return {
        "report": header,
        "note": header.participants.note,
        "is_simulated": header.participants.is_simulated,
        "made_at": datetime.fromisoformat(header.made_at),
        "headlines": [
            {"label": source_label(stored.report, name), "answer": answer}
            for name, answer in headlines(stored.report.sources)
        ],
        "sections": sections(stored.report, figures, link_table),
    }
