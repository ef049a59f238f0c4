"""People's accuracy with participants and test cases as random effects."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.mixed_model.page import page
from analysis.report.chapters.mixed_model.results import Mixed, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.mixed_model.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="mixed-model",
    title=_("Mixed model"),
    question=_("How much do people and test cases vary?"),
    results=Mixed,
    build=build,
    page=page,
    figures=_figures,
)
