"""What the headline accuracies would be under other choices of the analysis."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.sensitivity.page import page
from analysis.report.chapters.sensitivity.results import Sensitivity, build


def _figures() -> Mapping[str, FigureBuilder]:
    return {}


CHAPTER = Chapter(
    id="sensitivity",
    title=_("Sensitivity"),
    question=_("How much hangs on choices of the analysis?"),
    results=Sensitivity,
    build=build,
    page=page,
    figures=_figures,
)
