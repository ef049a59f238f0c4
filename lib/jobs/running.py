"""Do a job's work under a lease, and store how it ended."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from django.db import Error as DatabaseAnyError
from django.db import connection

from lib.jobs import leases
from lib.jobs.leases import CancelledError, Lease, LeaseLostError
from lib.jobs.models import Job

logger = logging.getLogger(__name__)
J = TypeVar("J", bound=Job)
Status = Job.Status


def run_job(
    job: J, work: Callable[[J, Lease], None], *, expected: tuple[type[Exception], ...] = ()
) -> J:
    """Take the job and call `work(job, lease)`; nothing happens if it is over, or another worker's.

    When `work` returns, the job is finished, unless `work` has released or ended it. `LeaseLostError` and
    `CancelledError` may pass through `work`; Ctrl-C and a worker that is shut down let the job wait again.

    Args:
        expected: errors whose message is a sentence for the reader; any other is logged and raised again.
    Returns:
        The job as it stands: finished, failed (its `error` says why), cancelled, or waiting.
    """
    lease = leases.take(job)
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
    except expected as error:
        lease.end(Status.FAILED, str(error))
    except Exception as error:
        logger.exception("Failed: %s", job.label)
        with suppress(DatabaseAnyError):
            lease.end(Status.FAILED, f"{type(error).__name__}: {error}")
        raise
    except BaseException:  # Ctrl-C, or a worker that is shut down: another goes on later
        _release(lease)
        raise


def _release(lease: Lease) -> None:
    try:
        lease.release()
    except DatabaseAnyError as error:
        # An interrupted query can leave its connection unusable
        logger.warning("%s is released by a new connection: %s", lease.job.label, error)
        connection.close()
        with suppress(DatabaseAnyError):
            lease.release()
