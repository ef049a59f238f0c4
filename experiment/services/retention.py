"""Past a study's day, everything that could lead from its participants' answers to them is taken away.

It is done some participants at a time, each time in a transaction of its own: nobody waits for long, and who was killed over it
has the next worker go on with those who are left.
"""

from datetime import date

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from experiment.domain.roles import Right
from experiment.models import Participant, Purge, RecruitmentRecord, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services import audit, work
from experiment.services.payments import forget_ids_of
from experiment.services.rights import may
from experiment.services.withdrawal import anonymise, forget_copies
from lib.jobs.leases import Lease, run_job
from lib.locks import hold_shared

OURS = (Participant.Kind.REAL, Participant.Kind.PILOT)
CHUNK = 25  # participants, in about a second


class NotDueError(Exception):
    """The study has no day until which personal data are kept, or it is not past."""


def is_due(study: Study, today: date) -> bool:
    return study.retain_until is not None and study.retain_until < today


def concerned(study: Study) -> dict[str, int]:
    """Participants whose data still lead to them: how many, and those with details, with a comment, and with ids."""
    people = _people(study)
    return {
        "participants": people.count(),
        "with_details": people.exclude(demographics={}).count(),
        "with_comment": people.exclude(comments="").count(),
        "with_ids": RecruitmentRecord.objects.filter(participant__in=people).count(),
    }


def ask(study: Study, today: date, by: User | None = None) -> Purge:
    """Have all participants' answers made anonymous; those who withdrew are gone already.

    Raises:
        NotDueError: it is too early.
        ValidationError: it is under way.
    """
    if not is_due(study, today):
        raise NotDueError
    try:
        with transaction.atomic():
            job = Purge.objects.create(study=study, created_by=by)
            work.start(job, by)
    except IntegrityError as error:
        raise ValidationError("It is in progress.") from error
    return job


def may_ask(user: User, job: Purge) -> bool:
    return may(user, Right.SET_UP, job.study)


def run(job: Purge) -> Purge:
    """Do it, as a worker does; the row says how it went."""
    return run_job(job, _purge, expected=(NotDueError,))


def _purge(job: Purge, lease: Lease) -> None:
    done = job.done
    lease.write(total=done + _people(job.study).count())
    while n := _make_some_anonymous(job, lease, done):
        done += n
        lease.check()
    with transaction.atomic():
        audit.record(
            audit.Action.PURGED,
            by=job.created_by,
            study=job.study,
            retain_until=str(job.study.retain_until),
            participants=done,
        )
        lease.write(total=done)
        lease.end(Purge.Status.FINISHED)  # here: it is in the trail once


def _make_some_anonymous(job: Purge, lease: Lease, done: int) -> int:
    """The next participants; how many they were, 0 once none is left."""
    with transaction.atomic():
        hold_shared(job.study)
        study = Study.objects.get(pk=job.study_id)
        if not is_due(study, timezone.localdate()):  # the day can be changed meanwhile
            raise NotDueError("The retention period of this study's personal data has not ended.")
        people = list(_people(study).order_by("pk").select_for_update(no_key=True)[:CHUNK])
        forget_ids_of(people)
        for person in people:
            anonymise(person, study)
        if people:
            forget_copies(study)
            lease.advance(done=done + len(people))
    return len(people)


def _people(study: Study) -> ParticipantQuerySet:
    people = study.participants.filter(kind__in=OURS, is_anonymous=False)
    return people.exclude(stage=Participant.Stage.WITHDRAWN)
