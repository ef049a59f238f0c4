"""Humans against models: accuracies and how they differ."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.accuracy.page import page
from analysis.report.chapters.accuracy.results import Accuracy, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.accuracy.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="models",
    title=_("Humans against models"),
    question=_("Who finds the original more often?"),
    results=Accuracy,
    build=build,
    page=page,
    figures=_figures,
)
