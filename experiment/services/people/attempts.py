"""Attempts at a password or a code are counted before anything is compared, so that many at once get no more of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import BoundedSemaphore

from django.db import connection
from django.utils import timezone
from django.utils.crypto import salted_hmac

from experiment.models import SignInAttempts

MOST_ATTEMPTS = 10
WAIT = timedelta(minutes=15)
# A comparison takes a core for a tenth of a second on purpose: so many at once in a process, and pages go on
_comparing = BoundedSemaphore(2)

# One statement, so that of two at once each counts; an old count begins anew
_COUNT = """
    INSERT INTO experiment_signinattempts AS counted (key, since, n) VALUES (%s, %s, 1)
    ON CONFLICT (key) DO UPDATE SET
        n = CASE WHEN counted.since < %s THEN 1 ELSE counted.n + 1 END,
        since = CASE WHEN counted.since < %s THEN excluded.since ELSE counted.since END
    RETURNING n
"""


class TooManyError(Exception):
    """Another attempt has to wait until the first of them is `WAIT` old."""


class BusyError(Exception):
    """This process compares as many passwords as it may."""


@contextmanager
def attempt(step: str, name: str, address: str) -> Iterator[None]:
    """Around a comparison: it counts unless `succeeded` is called.

    Raises:
        TooManyError, BusyError: nothing was compared.
    """
    key = key_of(step, name, address)
    if _count(key) > MOST_ATTEMPTS:
        raise TooManyError
    if not _comparing.acquire(blocking=False):
        raise BusyError
    try:
        yield
    finally:
        _comparing.release()


def succeeded(step: str, name: str, address: str) -> None:
    SignInAttempts.objects.filter(key=key_of(step, name, address)).delete()


def forget_old_attempts() -> None:
    SignInAttempts.objects.filter(since__lt=timezone.now() - WAIT).delete()


def key_of(step: str, name: str, address: str) -> str:
    """By name and address: who fails elsewhere locks nobody out."""
    said = repr((step, name.casefold(), address))
    return salted_hmac("sign-in-attempts", said, algorithm="sha256").hexdigest()


def _count(key: str) -> int:
    now = timezone.now()
    with connection.cursor() as cursor:
        times = [connection.ops.adapt_datetimefield_value(at) for at in (now, now - WAIT)]
        cursor.execute(_COUNT, [key, times[0], times[1], times[1]])
        [n] = cursor.fetchone()
    return int(n)
