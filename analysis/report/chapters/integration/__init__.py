"""Integration of context: whole abstracts, single sentences, foreign surroundings."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.integration.page import page
from analysis.report.chapters.integration.results import Integration, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.integration.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="integration",
    title=_("Integration of context"),
    question=_("How much comes from the sentence itself, how much from its surroundings?"),
    results=Integration,
    build=build,
    page=page,
    figures=_figures,
)
