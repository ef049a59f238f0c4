"""Quality, safety and abstention of answers to questions."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.graded.rates.page import page
from analysis.report.chapters.graded.rates.results import GradedRates, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.graded.rates.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="graded-rates",
    title=_("Answers to questions"),
    question=_("Who answers well, and who says so when not knowing?"),
    results=GradedRates,
    build=build,
    page=page,
    figures=_figures,
    is_of_study=True,
)
