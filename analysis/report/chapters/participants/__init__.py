"""Who took part: the participants of a study, as an article's methods describe them."""

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter
from analysis.report.chapters.participants.page import page
from analysis.report.chapters.participants.results import Participants, build

CHAPTER = Chapter(
    id="participants",
    title=_("Participants"),
    question=_("Who took part?"),
    results=Participants,
    build=build,
    page=page,
    figures=dict,
    is_of_study=True,
)
