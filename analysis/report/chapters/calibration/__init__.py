"""Whether confidence goes with accuracy."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.calibration.page import page
from analysis.report.chapters.calibration.results import Calibration, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.calibration.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="calibration",
    title=_("Calibration"),
    question=_("Are those who are surer more often right?"),
    results=Calibration,
    build=build,
    page=page,
    figures=_figures,
)
