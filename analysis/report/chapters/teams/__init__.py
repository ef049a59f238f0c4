"""Teams: do people and models decide better together?"""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.teams.page import page
from analysis.report.chapters.teams.results import Teams, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.teams.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="teams",
    title=_("Teams"),
    question=_("Do people and models decide better together?"),
    results=Teams,
    build=build,
    page=page,
    figures=_figures,
)
