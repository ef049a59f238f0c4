"""How far the judge's grades can be relied on."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.graded.agreement.page import page
from analysis.report.chapters.graded.agreement.results import GradedAgreement, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.graded.agreement.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="graded-agreement",
    title=_("The judge and people"),
    question=_("Would people grade the same way?"),
    results=GradedAgreement,
    build=build,
    page=page,
    figures=_figures,
    is_of_study=True,
)
