"""Models against one another, and what else goes with their grades."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.graded.comparisons.page import page
from analysis.report.chapters.graded.comparisons.results import GradedComparisons, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.graded.comparisons.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="graded-comparisons",
    title=_("Answers compared"),
    question=_("Which differences are more than chance?"),
    results=GradedComparisons,
    build=build,
    page=page,
    figures=_figures,
    is_of_study=True,
)
