"""Fine-tuning: each tuned model against its base."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, FigureBuilder
from analysis.report.chapters.finetuning.page import page
from analysis.report.chapters.finetuning.results import FineTuning, build


def _figures() -> Mapping[str, FigureBuilder]:
    from analysis.report.chapters.finetuning.figures import FIGURES

    return FIGURES


CHAPTER = Chapter(
    id="fine-tuning",
    title=_("Fine-tuning"),
    question=_("What does training on the field's literature change?"),
    results=FineTuning,
    build=build,
    page=page,
    figures=_figures,
)
