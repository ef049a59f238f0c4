"""What the answers are like: points, lengths, states and cost."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.graded.answers.page import page
from analysis.report.chapters.graded.answers.results import GradedAnswers, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.graded.answers.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="graded-answers",
    title=_("What was answered"),
    question=_("How many points, how long, at what cost?"),
    results=GradedAnswers,
    build=build,
    page=page,
    figures=_figures,
    is_of_study=True,
)
