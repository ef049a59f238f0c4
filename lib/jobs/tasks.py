"""What a Celery worker does: it looks at the row that a message names, and at times for rows without a message."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.apps import apps
from django.utils.module_loading import import_string

from lib.jobs.models import Job
from lib.jobs.queue import TASK, n_sent, send
from lib.jobs.requeue import Requeuer


@shared_task(name=TASK)  # type: ignore[untyped-decorator]
def work(kind: str, pk: int) -> None:
    """Do some of a job's work and, if there is more, send for it. Nothing happens if it is over or another worker's."""
    model = apps.get_model(kind)
    job = model._default_manager.filter(pk=pk).first()
    if job is None or not job.is_open:
        return
    import_string(job.runner)(job)
    if model._default_manager.filter(pk=pk, status=Job.Status.WAITING).exists():
        send(kind, pk)


requeuer = Requeuer(send, n_sent)


def _start(**_: Any) -> None:
    requeuer.start()


def _stop(**_: Any) -> None:
    requeuer.stop()


worker_ready.connect(_start)
worker_shutting_down.connect(_stop)
