"""The rates of answers by category of the question."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.graded.categories.page import page
from analysis.report.chapters.graded.categories.results import GradedCategories, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.graded.categories.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="graded-categories",
    title=_("Answers by category"),
    question=_("Where are answers good, and where safe?"),
    results=GradedCategories,
    build=build,
    page=page,
    figures=_figures,
    is_of_study=True,
)
