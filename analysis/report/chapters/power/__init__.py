"""How many participants a wanted precision takes."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.power.page import page
from analysis.report.chapters.power.results import Power, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.power.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="power",
    title=_("Power"),
    question=_("How many participants does a given precision take?"),
    results=Power,
    build=build,
    page=page,
    figures=_figures,
)
