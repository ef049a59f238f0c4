"""How long answers took."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.reaction_times.page import page
from analysis.report.chapters.reaction_times.results import ReactionTimes, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.reaction_times.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="reaction-times",
    title=_("Reaction times"),
    question=_("How long did answers take?"),
    results=ReactionTimes,
    build=build,
    page=page,
    figures=_figures,
)
