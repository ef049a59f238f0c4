"""Sends again for jobs without a message: a worker was killed, or a broker lost what it held.

Each worker does so. That messages are sent twice by this is harmless, for a job is one worker's at a time; that they
do not grow in number is what the two rules below are for.
"""

import logging
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import Error, connections

from lib.jobs import chores, leases
from lib.jobs.presence import Presence
from lib.jobs.queue import kinds

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
                chores.do_due()
            except Exception as error:  # noqa: BLE001 (a database or a broker that is away comes back)
                logger.warning("Could not look for forgotten jobs: %s", error)
            finally:
                connections.close_all()
            if self.stopped.wait(every_s):
                self._leave(presence)
                return

    def _leave(self, presence: Presence) -> None:
        try:
            presence.leave()
        except Error as error:
            logger.warning("Could not say that this worker ends: %s", error)
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
