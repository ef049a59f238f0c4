"""Past a study's day, everything that could lead from its participants' answers to them is taken away."""

from dataclasses import dataclass
from datetime import date

from django.contrib.auth.models import User
from django.db import transaction

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services import audit
from experiment.services.privacy.erasure import anonymise, forget_copies

OURS = (Participant.Kind.REAL, Participant.Kind.PILOT)


class NotDueError(Exception):
    """The study has no day until which personal data are kept, or it is not past."""


@dataclass(frozen=True, slots=True)
class Purge:
    """Whose data lead to them still: how many participants, those of them with details, with a comment, and with ids."""

    participants: int
    with_details: int
    with_comment: int
    with_ids: int


def is_due(study: Study, today: date) -> bool:
    return study.retain_until is not None and study.retain_until < today


def planned(study: Study) -> Purge:
    people = _people(study)
    return Purge(
        people.count(),
        people.exclude(demographics={}).count(),
        people.exclude(comments="").count(),
        RecruitmentRecord.objects.filter(participant__in=people).count(),
    )


def purge(study: Study, today: date, *, by: User | None = None) -> Purge:
    """Make all participants' answers anonymous; those who withdrew are gone already.

    Raises:
        NotDueError: it is too early.
    """
    if not is_due(study, today):
        raise NotDueError
    with transaction.atomic():
        found = planned(study)
        for person in _people(study).select_for_update(no_key=True):
            anonymise(person, study)
        forget_copies(study)
        audit.record(
            audit.Action.PURGED,
            by=by,
            study=study,
            retain_until=str(study.retain_until),
            participants=found.participants,
        )
    return found


def _people(study: Study) -> ParticipantQuerySet:
    people = study.participants.filter(kind__in=OURS, is_anonymous=False)
    return people.exclude(stage=Participant.Stage.WITHDRAWN)
