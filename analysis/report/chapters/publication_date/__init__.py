"""Publication date: are older studies easier for models?"""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.publication_date.page import page
from analysis.report.chapters.publication_date.results import PublicationDate, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.publication_date.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="publication-date",
    title=_("Publication date"),
    question=_("Are older abstracts easier for models?"),
    results=PublicationDate,
    build=build,
    page=page,
    figures=_figures,
)
