"""Changes of mind along the text: how a model's preference runs from the first token that differs to the end."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.flips.page import page
from analysis.report.chapters.flips.results import ChangesOfMind, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.flips.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="flips",
    title=_("Changes of mind along the text"),
    question=_("Does the preference at the first token that differs last to the end?"),
    results=ChangesOfMind,
    build=build,
    page=page,
    figures=_figures,
)
