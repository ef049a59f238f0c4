"""How people rate their own expertise, and whether accuracy follows."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.expertise.page import page
from analysis.report.chapters.expertise.results import Expertise, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.expertise.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="expertise",
    title=_("Expertise"),
    question=_("How do people rate their own expertise?"),
    results=Expertise,
    build=build,
    page=page,
    figures=_figures,
)
