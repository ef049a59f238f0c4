"""Messages to the workers: "look at this row". One that is lost, late or there twice changes nothing.

A message names the kind of its job by the model's label, "scoring.scoringrun".
"""

from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from lib.jobs.models import Job

if TYPE_CHECKING:
    from celery import Celery

TASK = "jobs.work"


def all_kinds() -> list[type[Job]]:
    """All models that are jobs."""
    return [model for model in apps.get_models() if issubclass(model, Job)]


def kinds() -> list[type[Job]]:
    """The kinds of jobs that workers here take: those of the queues in `JOB_APPS`."""
    return [model for model in all_kinds() if model.queue_name() in settings.JOB_APPS]


def enqueue(job: Job, asked_by: int) -> None:
    """Say who asks for a job that waits, in the transaction that has it wait, and send a message once that is committed.

    Where the broker is away, the workers find the job later by themselves.
    """
    type(job)._default_manager.filter(pk=job.pk).update(asked_by=asked_by)
    job.asked_by = asked_by
    if settings.JOB_EXECUTOR == "celery":
        kind, pk = job._meta.label_lower, job.pk
        transaction.on_commit(lambda: send(kind, pk), robust=True)


def send(kind: str, pk: int) -> None:
    """Send a message at once.

    Raises:
        kombu.exceptions.OperationalError: the broker does not answer.
    """
    app = celery_app()
    # Messages are few: no connection stays open for them
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0)  # a page waits
        app.send_task(TASK, (kind, pk), connection=connection, queue=_queue(app, kind))


def n_sent(kind: str) -> int:
    """Messages that no worker has taken yet, in the queue of this kind."""
    app = celery_app()
    with app.connection_for_write() as connection:
        queue = app.amqp.queues[_queue(app, kind)]
        return int(queue.bind(connection.default_channel).queue_declare().message_count)


def _queue(app: "Celery", kind: str) -> str:
    """Each app has a queue of its own, and long work too, since some machines take only some of them."""
    model: type[Job] = apps.get_model(kind)
    return f"{app.conf.task_default_queue}-{model.queue_name()}"


def celery_app() -> "Celery":
    """Loaded when a message is sent, so that pages and commands start without Celery."""
    return import_string(settings.CELERY_APP)
