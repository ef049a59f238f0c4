"""Work in the background as people see it: what runs, waits or ended, of any kind; who started and who stopped it."""

from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, TypeVar, cast

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.core.files.storage import Storage, storages
from django.db import IntegrityError, transaction
from django.db.models import ForeignKey, JSONField, Q, QuerySet
from django.urls import NoReverseMatch

from experiment.domain.roles import FieldRight, Right
from experiment.models import DryRun, Participant, RuleApplication, Study
from experiment.services import reapplying
from experiment.services.audit import Action, record
from experiment.services.readiness import completion_problems
from experiment.services.recounting import recount
from experiment.services.rights import field_rights_of, may
from lib.jobs import leases
from lib.jobs.models import NOBODY, Job
from lib.jobs.queue import all_kinds, enqueue

J = TypeVar("J", bound=Job)
Status = Job.Status
ENDED_SHOWN = 30
Who = User | AnonymousUser | None


@dataclass(frozen=True, slots=True)
class Listed:
    """A job; `is_stale` where its worker is gone."""

    job: Job
    study: Study | None
    address: str
    is_stale: bool

    @property
    def kind(self) -> str:
        return self.job._meta.label_lower

    @property
    def kind_name(self) -> str:
        return str(self.job._meta.verbose_name)

    @property
    def about(self) -> str:
        """The job's subject, with its study."""
        text = str(self.job)
        return text if self.study is None or str(self.study) in text else f"{text}, {self.study}"

    @property
    def name(self) -> str:
        """As the list names it.

        >>> from experiment.models import Purge
        >>> Listed(Purge(pk=3, status="running", total=8, cancel_requested=True), None, "", False).state
        'stopping, 0 of 8'
        """
        kind = self.kind_name
        return f"{kind[:1].upper()}{kind[1:]} {self.job.pk}"

    @property
    def state(self) -> str:
        job = self.job
        if self.is_stale:
            said = "its worker has stopped"
        elif job.is_open and job.cancel_requested:
            said = "stopping"
        else:
            said = job.get_status_display()
        return f"{said}, {job.done} of {job.total}" if job.total and job.is_open else said

    @property
    def act(self) -> str:
        """The words of its button; empty where nothing can be done with it."""
        return "Stop" if self.job.is_open else "Try again" if self.can_retry else ""

    @property
    def percent(self) -> float:
        return min(100.0, 100 * self.job.done / self.job.total) if self.job.total else 0.0

    @property
    def can_retry(self) -> bool:
        return self.job.status in (Status.FAILED, Status.CANCELLED)


def listing(study: Study | None = None) -> tuple[list[Listed], list[Listed]]:
    """The open jobs of a study, or of the site, the oldest first; and those that ended last."""
    still_open: list[Listed] = []
    ended: list[Listed] = []
    for model in all_kinds():
        jobs = _jobs(model, study)
        stale = set(leases.stale(jobs).values_list("pk", flat=True))
        open_jobs = jobs.filter(status__in=Job.OPEN_STATUSES).order_by("pk")
        still_open += (_listed(job, job.pk in stale) for job in open_jobs)
        # What an import or a command stored was no work of these
        over = jobs.exclude(status__in=Job.OPEN_STATUSES).exclude(started_at=None)
        ended += (_listed(job) for job in over.order_by("-finished_at")[:ENDED_SHOWN])
    still_open.sort(key=lambda row: row.job.created_at)
    ended.sort(key=lambda row: row.job.finished_at or row.job.created_at, reverse=True)
    return still_open, ended[:ENDED_SHOWN]


def ended_of(user: User, since: datetime) -> list[Listed]:
    """Work that the user asked for and that ended since then, the latest first."""
    rows = [
        _listed(job)
        for model in all_kinds()
        for job in _jobs(model, None).filter(asked_by=user.pk, finished_at__gte=since)
    ]
    rows.sort(key=lambda row: row.job.finished_at or row.job.created_at, reverse=True)
    return rows[:ENDED_SHOWN]


def find(kind: str, pk: int, study: Study | None = None) -> Job | None:
    """A job of this label and number, of the study; of the site where none is named."""
    for model in all_kinds():
        if model._meta.label_lower == kind:
            return _jobs(model, study).filter(pk=pk).first()
    return None


def may_work(user: User, job: Any) -> bool:
    """True if the user may ask for work of the job's study, as on its pages; without a study, as on the site's."""
    if job.study is None:
        return user.is_active and user.is_superuser
    return may(user, Right.WORK, job.study)


def may_lead(user: User, job: Any) -> bool:
    """True if the user may have a model write in the job's field, as on its pages."""
    return FieldRight.LEAD_FIELD in field_rights_of(user, job.field)


@transaction.atomic
def start(job: Job, by: Who) -> None:
    """Have a stored job done, and say who asked for it."""
    if isinstance(job, RuleApplication):
        reapplying.start(job)
    else:
        enqueue(job, number_of(by))
    _record(Action.WORK_STARTED, job, by)


@transaction.atomic
def stop(job: J, by: Who) -> J:
    """Ask an open job to stop; what it has stays."""
    if job.is_open:
        _record(Action.WORK_STOPPED, job, by)
    return leases.request_cancel(job)


def retry(job: J, by: Who) -> J:
    """Let a failed or stopped job wait again.

    Raises:
        ValidationError: another one is under way, and only one may be.
    """
    if job.status not in (Status.FAILED, Status.CANCELLED):
        if isinstance(job, RuleApplication) and job.is_open:
            reapplying.start(job)  # the process of its own may be gone
        return job
    try:
        with transaction.atomic():
            job = leases.reopen(job)
            start(job, by)
    except IntegrityError as error:
        raise ValidationError("Another dry run is in progress. Stop it first.") from error
    return job


def number_of(by: Who) -> int:
    """The number of the person who asks, as a job's row has it."""
    return NOBODY if by is None or by.pk is None else by.pk


def _record(action: Action, job: Job, by: Who) -> None:
    study = getattr(job, "study", None)
    record(action, by=by, study=study, kind=job._meta.label_lower, number=job.pk)


def _jobs(model: type[Job], study: Study | None) -> QuerySet[Job]:
    fields = model._meta.concrete_fields
    related = [field.name for field in fields if isinstance(field, ForeignKey)]
    # A plan or a list of files may be longer than all else on the page
    long = [field.name for field in fields if isinstance(field, JSONField)]
    jobs = model._default_manager.select_related(*related).defer(*long)
    if study is None:
        return jobs
    return jobs.filter(Q(("study", study))) if "study" in related else jobs.none()


def _listed(job: Job, is_stale: bool = False) -> Listed:
    try:
        address = str(job.get_absolute_url()) if hasattr(job, "get_absolute_url") else ""
    except NoReverseMatch:
        address = ""
    return Listed(job, getattr(job, "study", None), address, is_stale)


KEPT_PER_STUDY = 10
SIMULATED = Participant.Kind.SIMULATED


def ask_dry_run(study: Study, by: User, **chosen: Any) -> DryRun:
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
            enqueue(job, by.pk)
    except IntegrityError as error:
        raise ValidationError("A dry run of this study is in progress.") from error
    closed = study.dry_runs.exclude(status__in=DryRun.OPEN_STATUSES)
    for old in closed.order_by("-pk")[KEPT_PER_STUDY:]:
        sample_storage().delete(old.path)
        old.delete()
    return job


def undo_dry_run(job: DryRun) -> None:
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
