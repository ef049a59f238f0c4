"""The worker without a broker (`manage.py work`): it looks into the database, and has a process of its own do what is due.

So does a page where no worker listens (`start_process`). Once a day a worker does the functions that `DAILY_CHORES` names: one
worker each, whichever comes first.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from datetime import timedelta
from time import monotonic

from django.conf import settings
from django.db import Error as DatabaseAnyError
from django.db import IntegrityError, connections, transaction
from django.db.models import Value
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from lib.jobs import leases
from lib.jobs.models import Chore, Job
from lib.jobs.queue import kinds
from lib.jobs.workers import Presence


def start_process(job: Job) -> None:
    """Have a new process work on an open job; none is started while one is at such a job, or on its way to it."""
    if not leases.call(job):
        return
    # Of what a page may not wait for, the job may
    environment = {name: text for name, text in os.environ.items() if name != "SERVES_PAGES"}
    process = subprocess.Popen(
        [sys.executable, "-m", "lib.jobs.process", job._meta.label_lower, str(job.pk)],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # it outlives a web process that is restarted
    )
    # Else it would stay behind as a zombie
    threading.Thread(target=process.wait, name=f"process of {job.label}", daemon=True).start()


logger = logging.getLogger(__name__)
DAY = timedelta(days=1)
AGAIN = timedelta(hours=1)  # after a failure, or where its worker died over it


def are_chores_due() -> bool:
    waiting = Chore.objects.filter(name__in=settings.DAILY_CHORES, next_at__gt=Now())
    return waiting.count() < len(settings.DAILY_CHORES)


def do_due_chores() -> None:
    """Do the chores whose time has come; one that fails is logged, and tried again later."""
    for name in settings.DAILY_CHORES:
        if not _take_chore(name):
            continue
        try:
            import_string(name)()
        except Exception:
            logger.exception("Failed: %s", name)
        else:
            Chore.objects.filter(name=name).update(done_at=Now(), next_at=Now() + DAY)


def _take_chore(name: str) -> bool:
    if Chore.objects.filter(name=name, next_at__lte=Now()).update(next_at=Now() + AGAIN):
        return True
    if Chore.objects.filter(name=name).exists():
        return False
    try:
        with transaction.atomic():
            Chore.objects.create(name=name, next_at=Now() + AGAIN)
    except IntegrityError:  # another worker was quicker
        return False
    return True


COMMAND = [sys.executable, "-m", "lib.jobs.process"]
POLL_S = 0.5
CHORES_S = 60  # between looks whether a day has passed
PAUSE_S = 5  # after a process that died, or a database that did not answer
LINGER_S = 30  # for which what is loaded is kept for the next job
STOPPING_S = 30  # for a batch to end


class PollingWorker:
    """Waits for jobs without loading what does them, until `stopped` is set."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.presence = Presence()
        # Done in parallel: the apps' jobs in turn, and each queue of long work
        long = sorted({kind.queue for kind in kinds()} - {""})
        rest = [queue for queue in settings.JOB_APPS if queue not in long]
        self.lanes = [_Lane(queues) for queues in (rest, *([queue] for queue in long)) if queues]
        self.chores_at = 0.0

    def run(self) -> None:
        wait_s = 0.0
        try:
            while not self.stopped.wait(wait_s):
                wait_s = self._look()
        finally:
            for lane in self.lanes:
                lane.ask_to_end()
            for lane in self.lanes:
                lane.end()
            self.presence.leave()

    def _look(self) -> float:
        """Start what is to be started; after how many seconds to look again."""
        try:
            self.presence.beat()
            is_chore_due = monotonic() >= self.chores_at
            if is_chore_due:
                self.chores_at = monotonic() + CHORES_S
                is_chore_due = are_chores_due()
            waits = [lane.look(is_chore_due and lane is self.lanes[0]) for lane in self.lanes]
            return max(waits)
        except DatabaseAnyError as error:
            logger.warning("Could not look for work: %s", error)
            connections.close_all()
            return PAUSE_S


class _Lane:
    """One thing at a time of some queues, in a process of its own beside those of other lanes."""

    def __init__(self, queues: list[str]) -> None:
        self.queues = queues
        self.process: subprocess.Popen[bytes] | None = None

    def look(self, is_chore_due: bool) -> float:
        """Start a process if there is something for it; after how many seconds to look again."""
        if self.process is not None and self.process.poll() is None:
            return POLL_S
        ended, self.process = self.process, None
        if ended is not None and ended.returncode:
            # It was killed; its job is found again like any whose worker is gone
            logger.warning("The process of a job ended with exit status %s.", ended.returncode)
            return PAUSE_S
        if is_chore_due or next_job(queues=self.queues) is not None:
            self.process = subprocess.Popen(
                [*COMMAND, str(os.getpid())],
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "JOB_APPS": ",".join(self.queues)},
            )
        return POLL_S

    def ask_to_end(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def end(self) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(STOPPING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def work_off(worker: int) -> None:
    """Do chores and jobs that are due, until nothing has come for a while or the worker of this process id is gone."""
    last, idle_since = "", monotonic()
    do_due_chores()
    while os.getppid() == worker and monotonic() - idle_since < LINGER_S:
        job = next_job(last)
        if job is None:
            time.sleep(POLL_S)
            continue
        last = job._meta.label_lower
        do(job)
        idle_since = monotonic()


def next_job(after: str = "", queues: Collection[str] | None = None) -> Job | None:
    """One that is due of the next kind: kinds take turns, so that a long run, done slice by slice, keeps no report waiting, and
    so do the people who ask (`leases.in_turn`).
    """
    leases.renew_connection()
    queues = settings.JOB_APPS if queues is None else queues
    models = {kind._meta.label_lower: kind for kind in kinds() if kind.queue_name() in queues}
    labels = sorted(_with_open_jobs(models.values()))
    for label in [label for label in labels if label > after] + labels:
        found = leases.due(models[label]._default_manager.all()).first()
        if found is not None:
            return found
    return None


def _with_open_jobs(models: Collection[type[Job]]) -> set[str]:
    """One query for all kinds, for mostly there is nothing."""
    found = [
        model._default_manager.filter(status__in=Job.OPEN_STATUSES)
        .order_by()
        .values_list(Value(model._meta.label_lower), flat=True)
        for model in models
    ]
    return set(found[0].union(*found[1:])) if found else set()


def do(job: Job) -> None:
    """Do the job, or a slice of it; whatever goes wrong, its row says so and does not wait for the same again."""
    try:
        import_string(job.runner)(job)
    except Exception as error:
        lease = leases.take(job)
        if lease is not None:
            logger.exception("Failed: %s", job.label)
            lease.end(Job.Status.FAILED, f"{type(error).__name__}: {error}")
