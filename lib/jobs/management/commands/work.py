import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from lib.jobs.worker import PollingWorker


class Command(BaseCommand):
    help = "Run queued jobs and daily maintenance, one at a time, until stopped (SIGTERM, Ctrl-C)."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.JOB_EXECUTOR == "celery":
            raise CommandError(
                "JOB_EXECUTOR=celery: Celery's workers run the jobs of this site. docs/models.md explains how to start one."
            )
        worker = PollingWorker()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stopped.set())
        worker.run()
