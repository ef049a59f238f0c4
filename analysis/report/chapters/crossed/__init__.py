"""Accuracies when both the participants and the test cases could have been others."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.crossed.page import page
from analysis.report.chapters.crossed.results import Crossed, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.crossed.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="crossed",
    title=_("Crossed uncertainty"),
    question=_("How sure is the difference, had other people judged other test cases?"),
    results=Crossed,
    build=build,
    page=page,
    figures=_figures,
)
