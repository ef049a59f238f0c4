"""Leases of jobs: one worker at a time works on a job, known by its heartbeat, until it ends.

The database's row decides, on its own clock.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import Error as DatabaseAnyError
from django.db import close_old_connections, connection, connections, transaction
from django.db.models import Case, F, Max, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now
from django.utils.module_loading import import_string

from lib.jobs.models import NOBODY, Job, Turn
from lib.jobs.workers import Worker

logger = logging.getLogger(__name__)
J = TypeVar("J", bound=Job)
Status = Job.Status
# A worker that misses a few beats (a slow disk, a database that restarts) still keeps its job
BEATS_BEFORE_STALE = 4
MAX_ATTEMPTS = 3
# After which a process that was started and has taken nothing is not coming any more
STARTING_SECONDS = 30
KILLED = (
    "Its worker was killed or stopped responding {n} times in a row without progress, the last time on {host}. It "
    "is not tried again automatically. The usual cause is too little memory."
)
NO_RIGHT = "The person who asked for this no longer has the right to. Somebody who has it can ask for it again."


class LeaseLostError(Exception):
    """Another worker has the job now: write nothing more."""


class CancelledError(Exception):
    """The job shall stop: its row says so."""


class NoRightError(Exception):
    """The person who asked for the job has lost the right to it: write nothing more in their name."""


@dataclass
class Lease:
    """The right to write a job's results. Every write asks for it again, in the same transaction."""

    job: Job
    worker: str
    is_lost: threading.Event = field(default_factory=threading.Event)

    def _mine(self) -> QuerySet[Job]:
        return _row(self.job).filter(worker=self.worker, status=Status.RUNNING)

    def write(self, **changes: Any) -> None:
        """Change the job's row; within a transaction, no other worker can take the job before its end.

        Raises:
            LeaseLostError: another worker has the job.
        """
        if not self._mine().update(heartbeat_at=Now(), **changes):
            self.is_lost.set()
            raise LeaseLostError

    def advance(self, **changes: Any) -> None:
        """As `write`, with results stored that the next worker need not make again: earlier attempts no longer count."""
        self.write(attempts=1, **changes)

    def check(self) -> None:
        """Ask whether to go on.

        Raises:
            CancelledError: the job shall stop.
            LeaseLostError: another worker has the job.
            NoRightError: who asked for it has lost the right to, or their account.
        """
        row = self._mine().values_list("cancel_requested", "asked_by").first()
        if row is None or self.is_lost.is_set():
            raise LeaseLostError
        is_cancelled, asked_by = row
        if is_cancelled:
            raise CancelledError
        if asked_by != NOBODY and self.job.may_ask:
            user = get_user_model()._default_manager.filter(pk=asked_by).first()
            if user is None or not import_string(self.job.may_ask)(user, self.job):
                raise NoRightError(NO_RIGHT)

    def release(self) -> None:
        """Let any worker go on with it; or none, if it was cancelled meanwhile."""
        cancelled = Q(cancel_requested=True)
        with transaction.atomic():
            released = self._mine().update(
                status=Case(
                    When(cancelled, then=Value(Status.CANCELLED)), default=Value(Status.WAITING)
                ),
                finished_at=Case(When(cancelled, then=Now()), default=None),
                **_UNHELD,
            )
            if released:
                _undo(self.job)

    def end(self, status: str, error: str = "") -> None:
        """Finish, fail or cancel the job, unless another worker has it."""
        with transaction.atomic():
            if self._mine().update(status=status, error=error, finished_at=Now(), **_UNHELD):
                _undo(self.job)

    @contextmanager
    def heartbeats_running(self) -> Iterator[None]:
        """Send heartbeats from a thread of its own."""
        stop = threading.Event()
        name = f"heartbeat of {self.job.label}"
        thread = threading.Thread(target=self._beat, args=(stop,), name=name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _beat(self, stop: threading.Event) -> None:
        stale_s = settings.JOB_STALE_SECONDS
        last = monotonic()
        try:
            while not stop.wait(stale_s / BEATS_BEFORE_STALE) and not self.is_lost.is_set():
                try:
                    if not self._mine().update(heartbeat_at=Now()):
                        self.is_lost.set()
                    last = monotonic()
                except DatabaseAnyError as error:
                    # SQLite is locked, or PostgreSQL restarts; without a beat for too long the job is not ours
                    logger.warning("No heartbeat for %s: %s", self.job.label, error)
                    connections.close_all()
                    if monotonic() - last > stale_s:
                        self.is_lost.set()
        finally:
            connections.close_all()


# A job that no worker has
_UNHELD: dict[str, Any] = {
    "cancel_requested": False,
    "attempts": 0,
    "worker": "",
    "heartbeat_at": None,
}


def take(job: Job) -> Lease | None:
    """Take the job in one step, if it waits or its worker is gone; None if it is not to be had.

    A job whose workers were killed too often in a row ends as failed instead.
    """
    abandoned = _abandoned_now(job)
    _fail(_row(job).filter(abandoned, _KILLS))
    worker = str(Worker.of_this_process())
    with transaction.atomic():
        taken = (
            _row(job)
            .filter(Q(status=Status.WAITING) | abandoned)
            .update(
                status=Status.RUNNING,
                worker=worker,
                heartbeat_at=Now(),
                started_at=Coalesce(F("started_at"), Now()),
                finished_at=None,
                error="",
                attempts=F("attempts") + 1,
            )
        )
        if taken:
            person = _row(job).values_list(job.whose_turn(), flat=True).get()
            Turn.objects.filter(person=person).delete()
            Turn.objects.create(person=person)
    return Lease(job, worker) if taken else None


def call(job: Job) -> bool:
    """True if a process is to be started for an open job, which then counts as on its way: one at a time for all of a kind."""
    recently = _recently()
    fresh = Now() - timedelta(seconds=settings.JOB_STALE_SECONDS)
    busy = Q(status=Status.WAITING, heartbeat_at__gte=recently) | Q(
        status=Status.RUNNING, heartbeat_at__gte=fresh
    )
    if type(job)._default_manager.filter(busy).exclude(pk=job.pk).exists():
        return False
    unattended = Q(status=Status.WAITING) | _abandoned_now(job)
    is_not_called = Q(heartbeat_at=None) | Q(heartbeat_at__lt=recently)
    return bool(_row(job).filter(unattended, is_not_called).update(heartbeat_at=Now()))


def reserve(job: Job) -> None:
    """Keep an open job for this process, a command's, which takes it at once: for a moment, workers leave it alone.

    Nobody's right is asked from then on: whoever runs commands here may do everything.
    """
    _row(job).filter(Q(status=Status.WAITING) | _abandoned_now(job)).update(asked_by=NOBODY)
    _row(job).filter(status=Status.WAITING).update(heartbeat_at=Now())


def waiting(jobs: QuerySet[J]) -> QuerySet[J]:
    """Those that no worker has yet, the oldest first."""
    return jobs.filter(status=Status.WAITING).order_by("pk")


def stale(jobs: QuerySet[J]) -> QuerySet[J]:
    """Those whose worker is gone: no heartbeat for too long, or a process of this host that is dead."""
    running = jobs.filter(status=Status.RUNNING)
    return running.filter(_abandoned(running.values_list("worker", flat=True))).order_by("pk")


def is_held(job: Job) -> bool:
    """True if a living worker has it."""
    row = type(job)._default_manager.filter(pk=job.pk)
    return row.filter(status=Status.RUNNING).exists() and not stale(row).exists()


def due(jobs: QuerySet[J]) -> QuerySet[J]:
    """Those that a worker may take now, `in_turn`: none is at them, nor a process on its way to them."""
    running = jobs.filter(status=Status.RUNNING)
    abandoned = _abandoned(running.values_list("worker", flat=True))
    waits = Q(status=Status.WAITING) & (Q(heartbeat_at=None) | Q(heartbeat_at__lt=_recently()))
    return in_turn(jobs.filter(waits | abandoned))


def in_turn(jobs: QuerySet[J]) -> QuerySet[Any]:
    """First those of the person or owner whose jobs a worker has left alone for longest, as `turn` says, then the oldest.

    However much one lab asks for, and however long its servers keep a worker, another's next job comes after one of these.
    """
    last = (
        Turn.objects.filter(person=OuterRef("whose"))
        .order_by()
        .values("person")
        .annotate(last=Max("pk"))
    )
    whose = jobs.annotate(whose=jobs.model.whose_turn())
    return whose.annotate(turn=Coalesce(Subquery(last.values("last")), 0)).order_by("turn", "pk")


def make_room(jobs: QuerySet[J], job: J, most: int) -> None:
    """Forget the oldest of these that nobody has begun, so that at most so many wait with this one: whoever wants one asks again."""
    others = waiting(jobs).filter(heartbeat_at=None).exclude(pk=job.pk)
    oldest = list(others.order_by("-pk").values_list("pk", flat=True)[most - 1 :])
    others.filter(pk__in=oldest).delete()


def fail_repeatedly_killed(jobs: QuerySet[J]) -> None:
    """End those that killed their worker too often as failed, each with a sentence that says so."""
    _fail(stale(jobs).filter(_KILLS))


def request_cancel(job: J) -> J:
    """Stop an open job: at once where no worker has it, else when its worker next asks. What it has stays."""
    unattended = Q(status=Status.WAITING) | _abandoned_now(job)
    # In one step: between two, a worker could release the job or take it
    with transaction.atomic():
        was_open = (
            _row(job)
            .filter(status__in=Job.OPEN_STATUSES)
            .update(
                cancel_requested=Case(When(unattended, then=False), default=True),
                worker=Case(When(unattended, then=Value("")), default=F("worker")),
                finished_at=Case(When(unattended, then=Now()), default=F("finished_at")),
                status=Case(When(unattended, then=Value(Status.CANCELLED)), default=F("status")),
            )
        )
        if was_open:
            _undo(job)
    job.refresh_from_db()
    return job


def _undo(job: Job) -> None:
    """Have what a job leaves behind removed, if it has just been stopped or failed."""
    over = (Status.CANCELLED, Status.FAILED)
    if job.undo and _row(job).filter(status__in=over).exists():
        import_string(job.undo)(job)


def reopen(job: J, *, also_finished: bool = False) -> J:
    """Let a failed or cancelled job wait again; what it has stays, and earlier attempts no longer count.

    Args:
        also_finished: its work came to an end, and some of it is to be tried again.
    Raises:
        IntegrityError: its kind allows one open job, and there is another.
    """
    over = (Status.FAILED, Status.CANCELLED, *((Status.FINISHED,) if also_finished else ()))
    _row(job).filter(status__in=over).update(
        status=Status.WAITING, error="", finished_at=None, cancel_requested=False
    )
    _row(job).update(attempts=0)
    job.refresh_from_db()
    return job


def renew_connection() -> None:
    """After a long time without a query: a connection that the server has dropped is opened anew."""
    if (
        not connection.in_atomic_block
    ):  # inside, the connection belongs to who began the transaction
        close_old_connections()


# Cancelling comes first: whoever takes such a job next ends it as cancelled
_KILLS = Q(attempts__gte=MAX_ATTEMPTS, cancel_requested=False)


def _recently() -> CombinedExpression:
    return Now() - timedelta(seconds=STARTING_SECONDS)


def _row(job: Job) -> QuerySet[Job]:
    return type(job)._default_manager.filter(pk=job.pk)


def _fail(jobs: QuerySet[J]) -> None:
    for job in jobs:
        worker = Worker.read(job.worker)
        error = KILLED.format(n=job.attempts, host=worker.host if worker else job.worker)
        Lease(job, job.worker).end(Status.FAILED, error)


def _abandoned_now(job: Job) -> Q:
    return _abandoned(_row(job).values_list("worker", flat=True))


def _abandoned(workers: Iterable[str]) -> Q:
    known = ((name, Worker.read(name)) for name in workers)
    dead = [name for name, worker in known if worker is not None and worker.is_known_dead]
    too_old = Now() - timedelta(seconds=settings.JOB_STALE_SECONDS)
    return Q(status=Status.RUNNING) & (
        Q(heartbeat_at__lt=too_old) | Q(heartbeat_at=None) | Q(worker__in=dead)
    )


def run_job(
    job: J, work: Callable[[J, Lease], None], *, expected: tuple[type[Exception], ...] = ()
) -> J:
    """Take the job and call `work(job, lease)`; nothing happens if it is over, or another worker's.

    When `work` returns, the job is finished, unless `work` has released or ended it. `LeaseLostError`, `CancelledError`
    and `NoRightError` may pass through `work`; Ctrl-C and a worker that is shut down let the job wait again.

    Args:
        expected: errors whose message is a sentence for the reader; any other is logged and raised again.
    Returns:
        The job as it stands: finished, failed (its `error` says why), cancelled, or waiting.
    """
    lease = take(job)
    if lease is not None:
        with lease.heartbeats_running():
            job.refresh_from_db()
            _run(job, lease, work, expected)
    job.refresh_from_db()
    return job


def _run(
    job: J, lease: Lease, work: Callable[[J, Lease], None], expected: tuple[type[Exception], ...]
) -> None:
    try:
        lease.check()
        work(job, lease)
        lease.end(Status.FINISHED)
    except CancelledError:
        lease.end(Status.CANCELLED)
    except LeaseLostError:
        logger.warning("Another worker has taken %s; this one wrote nothing more.", job.label)
    except NoRightError as error:
        lease.end(Status.FAILED, str(error))
    except expected as error:
        lease.end(Status.FAILED, str(error))
    except Exception as error:
        logger.exception("Failed: %s", job.label)
        with suppress(DatabaseAnyError):
            lease.end(Status.FAILED, f"{type(error).__name__}: {error}")
        raise
    except BaseException:  # Ctrl-C, or a worker that is shut down: another goes on later
        try:
            lease.release()
        except DatabaseAnyError as error:
            # An interrupted query can leave its connection unusable
            logger.warning("%s is released by a new connection: %s", job.label, error)
            connection.close()
            with suppress(DatabaseAnyError):
                lease.release()
        raise
