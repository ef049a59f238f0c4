"""What recruitment sites are promised and given: the ends of a study, and how long their ids are kept."""

from dataclasses import dataclass
from datetime import date
from urllib.parse import quote

from django.db import transaction

from experiment.models import Participant, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services.enrollment import NO_EXTERNAL_IDS, ExternalIds
from experiment.services.export_jobs import delete_exports

ID_PLACE = "{external_id}"


@dataclass(frozen=True, slots=True)
class Ending:
    """Where a participant is sent at the end, or when they do not take part; empty where nowhere."""

    completion_url: str = ""
    completion_code: str = ""
    screen_out_url: str = ""


def ending(study: Study, external: ExternalIds = NO_EXTERNAL_IDS) -> Ending:
    """For who came with these ids. What was agreed with a platform is for its participants only."""
    if study.platform and external.source != study.platform:
        return Ending()
    return Ending(
        _fill_in(study.completion_url, external.id),
        study.completion_code,
        _fill_in(study.screen_out_url, external.id),
    )


def _fill_in(url: str, external_id: str) -> str:
    """The address with the participant's id in it, quoted; none where it needs an id and there is none."""
    if ID_PLACE in url and not external_id:
        return ""
    return url.replace(ID_PLACE, quote(external_id, safe=""))


def overdue(today: date) -> ParticipantQuerySet:
    """Participants whose recruitment ids are still there after the day that consent named."""
    return Participant.objects.filter(external_ids_until__lt=today).exclude(
        external_id="", external_study_id="", external_session_id=""
    )


@transaction.atomic
def forget_ids(today: date) -> int:
    """Erase the recruitment ids that are past their day, and prepared exports that hold them.

    The site's name stays, which says nothing of a person.
    """
    people = overdue(today)
    studies = list(Study.objects.filter(participants__in=people).distinct())
    n = people.update(external_id="", external_study_id="", external_session_id="")
    for study in studies:
        delete_exports(study)
    return n
