"""People's accuracy by the position they hold."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.positions.page import page
from analysis.report.chapters.positions.results import Positions, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.positions.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="positions",
    title=_("Positions"),
    question=_("Does it matter where people are in their career?"),
    results=Positions,
    build=build,
    page=page,
    figures=_figures,
)
