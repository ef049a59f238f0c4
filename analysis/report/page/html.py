"""The results as one file: styles and pictures within, no script, nothing fetched; it opens from disk and prints."""

import base64

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from analysis.presentation import FigureView
from analysis.report.page.context import report_context
from analysis.report.stored import StoredReport
from analysis.store import StoredFigure

STYLES = ("css/base.css", "css/lab.css", "css/results.css")


def render_file(stored: StoredReport) -> str:
    """The page of a stored report."""

    def view(figure: StoredFigure) -> FigureView:
        # A picture of its own, not part of the page: nothing in it can reach the page, and it carries its alternative text
        picture = base64.b64encode(stored.result.figure_file(figure.stem, "svg")).decode()
        return FigureView.of(figure, f"data:image/svg+xml;base64,{picture}")

    context = {
        "study": stored.report.header.study,
        **report_context(stored, view),
        "styles": "\n".join(_style(name) for name in STYLES),
        "is_file": True,
    }
    return render_to_string("analysis/report.html", context)


def _style(name: str) -> str:
    path = finders.find(name)
    if not path:
        raise FileNotFoundError(f"static/{name} is not installed")
    with open(path, encoding="utf-8") as file:
        return file.read()
