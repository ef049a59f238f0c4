"""Accuracy of people and models by subfield."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.subfields.page import page
from analysis.report.chapters.subfields.results import Subfields, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.subfields.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="subfields",
    title=_("Subfields"),
    question=_("Does it hold across the field?"),
    results=Subfields,
    build=build,
    page=page,
    figures=_figures,
)
