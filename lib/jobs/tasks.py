"""The thin adapter to Celery: its worker looks at the row that a message names, and sends again for rows without a message.

Each worker does so. That messages are sent twice by this is harmless, for a job is one worker's at a time; that they
do not grow in number is what the two rules below are for.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.apps import apps
from django.conf import settings
from django.db import Error, connections
from django.utils.module_loading import import_string

from lib.jobs import leases
from lib.jobs import worker as worker_service
from lib.jobs.models import Job
from lib.jobs.queue import TASK, kinds, n_sent, send
from lib.jobs.workers import Presence

logger = logging.getLogger(__name__)
MAX_SECONDS = 5
Key = tuple[str, int]  # kind and number of a job


class Requeuer:
    """Sends messages for forgotten jobs, from time to time, in a thread of its own; says meanwhile that its worker lives,
    and does the day's chores.

    Args:
        send: sends a message about a job: its kind and number.
        n_sent: how many messages about a kind of jobs no worker has taken yet.
    """

    def __init__(self, send: Callable[[str, int], None], n_sent: Callable[[str], int]) -> None:
        self.send, self.n_sent = send, n_sent
        self.stopped = threading.Event()
        self.requeued: set[tuple[Key, str]] = set()  # jobs, and their worker that is gone

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="requeue", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        self.stopped.set()

    def _run(self) -> None:
        every_s = min(MAX_SECONDS, settings.JOB_STALE_SECONDS)
        presence = Presence()
        while True:
            try:
                presence.beat()
                self.requeue()
                worker_service.do_due_chores()
            except Exception as error:  # noqa: BLE001 (a database or a broker that is away comes back)
                logger.warning("Could not look for forgotten jobs: %s", error)
            finally:
                connections.close_all()
            if self.stopped.wait(every_s):
                break
        try:
            presence.leave()
        except Error as error:
            logger.warning("Could not record that this worker is stopping: %s", error)
        finally:
            connections.close_all()

    def requeue(self) -> list[Key]:
        """Send for jobs whose worker is gone, once each; and where no message is on its way, for all open ones.

        A job that has killed its worker too often ends as failed instead.

        Returns:
            The jobs that were sent for.
        """
        abandoned: set[tuple[Key, str]] = set()
        due: set[Key] = set()
        for model in kinds():
            jobs, kind = model._default_manager.all(), model._meta.label_lower
            leases.fail_repeatedly_killed(jobs)
            stale = leases.stale(jobs).values_list("pk", "worker")
            of_kind = {((kind, pk), worker) for pk, worker in stale}
            waiting = {(kind, pk) for pk in leases.waiting(jobs).values_list("pk", flat=True)}
            if self.n_sent(kind):
                due |= {key for key, _ in of_kind - self.requeued}
            else:
                due |= {key for key, _ in of_kind} | waiting
            abandoned |= of_kind
        for kind, pk in sorted(due):
            self.send(kind, pk)
        self.requeued = abandoned
        return sorted(due)


@shared_task(name=TASK)  # type: ignore[untyped-decorator]
def work(kind: str, pk: int) -> None:
    """Do some of a job's work and, if there is more, send for it. Nothing happens if it is over.

    Of the kind's jobs it does the one whose turn it is, which has a message too, and so leaves this one's place to it.
    """
    model = apps.get_model(kind)
    job = model._default_manager.filter(pk=pk).first()
    if job is None or not job.is_open:
        return
    job = leases.due(model._default_manager.all()).first() or job
    import_string(job.runner)(job)
    if model._default_manager.filter(pk=job.pk, status=Job.Status.WAITING).exists():
        send(kind, job.pk)


requeuer = Requeuer(send, n_sent)


def _start(**_: Any) -> None:
    requeuer.start()


def _stop(**_: Any) -> None:
    requeuer.stop()


worker_ready.connect(_start)
worker_shutting_down.connect(_stop)
