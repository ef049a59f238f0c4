"""How many people and trials there were from the first visit to the analysis."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.flow.page import page
from analysis.report.chapters.flow.results import Flow, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.flow.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="flow",
    title=_("From recruitment to analysis"),
    question=_("Whose trials are these?"),
    results=Flow,
    build=build,
    page=page,
    figures=_figures,
    is_of_study=True,
)
