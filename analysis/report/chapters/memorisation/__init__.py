"""Memorisation: could models have met the test cases before?"""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.memorisation.page import page
from analysis.report.chapters.memorisation.results import Memorisation, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.memorisation.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="memorisation",
    title=_("Memorisation"),
    question=_("Could models have known the abstracts?"),
    results=Memorisation,
    build=build,
    page=page,
    figures=_figures,
)
