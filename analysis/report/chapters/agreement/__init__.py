"""Agreement about which items are hard: between models, with people, and of people with themselves."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.agreement.page import page
from analysis.report.chapters.agreement.results import Agreement, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.agreement.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="agreement",
    title=_("Agreement"),
    question=_("Do models and people find the same test cases hard?"),
    results=Agreement,
    build=build,
    page=page,
    figures=_figures,
)
