"""What recruitment sites are promised and given: the ends of a study, and how long their ids are kept."""

from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple
from urllib.parse import quote

from django.db import transaction

from experiment.models import Participant, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services.counting import raise_revision
from experiment.services.enrollment import NO_EXTERNAL_IDS, ExternalIds
from experiment.services.export_jobs import delete_exports

ID_PLACE = "{external_id}"


class Parameter(NamedTuple):
    """A parameter of the entry link, and what the recruitment site calls the value that it puts there."""

    name: str
    placeholder: str


# The ids of the participant, the study and the session there; SONA has the first alone
SOURCES = {
    "prolific": (
        Parameter("PROLIFIC_PID", "{{%PROLIFIC_PID%}}"),
        Parameter("STUDY_ID", "{{%STUDY_ID%}}"),
        Parameter("SESSION_ID", "{{%SESSION_ID%}}"),
    ),
    "mturk": (
        Parameter("workerId", "${workerId}"),
        Parameter("hitId", "${hitId}"),
        Parameter("assignmentId", "${assignmentId}"),
    ),
    "sona": (Parameter("id", "%SURVEY_CODE%"),),
}
SAMPLE_CODE = "ABCD-EFGH-JKLM"
SAMPLE = ExternalIds("", "EXAMPLE-ID", "EXAMPLE-STUDY", "EXAMPLE-SESSION")


@dataclass(frozen=True, slots=True)
class Link:
    """An entry link to give out, and what who follows it meets at the end."""

    source: str
    url: str
    ending: "Ending"


def links(study: Study, address: str) -> list[Link]:
    """The link for the study's platform, with the platform's placeholders, and the plain one."""
    found = [Link(Study.Platform.NONE.value, address, ending(study))]
    if study.platform:
        query = "&".join(f"{p.name}={p.placeholder}" for p in SOURCES[study.platform])
        of_platform = ending(study, sample(study.platform))
        found.insert(0, Link(study.platform, f"{address}?{query}", of_platform))
    return found


def sample(source: str) -> ExternalIds:
    """Ids for a preview."""
    return replace(SAMPLE, source=source) if source else NO_EXTERNAL_IDS


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
    changed = set(people.order_by().values_list("study", "kind").distinct())
    studies = Study.objects.in_bulk({study for study, _ in changed})
    n = people.update(external_id="", external_study_id="", external_session_id="")
    for pk, kind in sorted(changed):
        raise_revision(studies[pk], kind)
    for study in studies.values():
        delete_exports(study)
    return n
