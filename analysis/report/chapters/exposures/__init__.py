"""How often each test case was judged."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.exposures.page import page
from analysis.report.chapters.exposures.results import ItemExposures, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.exposures.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="exposures",
    title=_("Exposures"),
    question=_("How often was each test case judged?"),
    results=ItemExposures,
    build=build,
    page=page,
    figures=_figures,
)
