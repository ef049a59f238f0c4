"""The test cases on which people and language models differ."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.item_differences.page import page
from analysis.report.chapters.item_differences.results import Differences, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.item_differences.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="item-differences",
    title=_("Differences by test case"),
    question=_("On which test cases do people and models differ?"),
    results=Differences,
    build=build,
    page=page,
    figures=_figures,
)
