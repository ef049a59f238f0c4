"""Dry runs: asked for here, done by `experiment.simulation.dry_run`. Their people are of the kind `simulated` and never count."""

from typing import IO, Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.files.storage import Storage, storages
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from experiment.models import DryRun, Participant, Study
from experiment.services.audit import Action, record
from experiment.services.recount import recount
from experiment.services.study_setup import completion_problems
from lib.jobs.queue import enqueue

KEPT_PER_STUDY = 10
SIMULATED = Participant.Kind.SIMULATED


def ask(study: Study, by: User, **chosen: Any) -> DryRun:
    """A new dry run, for a worker.

    Raises:
        ValidationError: a value out of range, nobody could take the study, or one is under way.
    """
    if problems := completion_problems(study):
        raise ValidationError([str(problem) for problem in problems])
    job = DryRun(study=study, **chosen)
    job.full_clean(validate_constraints=False)
    try:
        with transaction.atomic():
            job.save()
            record(Action.WORK_STARTED, by=by, study=study, work="dry run", number=job.pk)
            enqueue(job)
    except IntegrityError as error:
        raise ValidationError(_("A dry run of this study is under way.")) from error
    _clear(study)
    return job


def undo(job: DryRun) -> None:
    """Remove whom a dry run that does not go on has simulated so far; before it began, those of the last one stay."""
    if DryRun.objects.filter(pk=job.pk).exclude(started_at=None).exists():
        remove_simulated(job.study)


def remove_simulated(study: Study) -> int:
    """Delete the study's simulated participants and all they did."""
    people = study.participants.filter(kind=SIMULATED)
    n = people.count()
    people.delete()
    recount(study, SIMULATED)
    return n


def is_under_way(study: Study) -> bool:
    return study.dry_runs.filter(status__in=DryRun.OPEN_STATUSES).exists()


def open_sample(job: DryRun) -> IO[bytes]:
    """The trials of the simulated participants.

    Raises:
        FileNotFoundError: there are none, or the file was deleted.
    """
    return cast("IO[bytes]", sample_storage().open(job.path))


def sample_storage() -> Storage:
    return storages["results"]


def _clear(study: Study) -> None:
    """Forget dry runs beyond the newest."""
    closed = study.dry_runs.exclude(status__in=DryRun.OPEN_STATUSES)
    for old in closed.order_by("-pk")[KEPT_PER_STUDY:]:
        sample_storage().delete(old.path)
        old.delete()
