"""Attempts at a password or a code are counted before anything is compared, so that many at once get no more of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from threading import BoundedSemaphore

from django.db import connection
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import salted_hmac

from experiment.models import SignInAttempts

MOST_ATTEMPTS = 10  # at one name, from one address
# Whatever the names: of a class behind one address some mistype, a program tries no dictionary
MOST_OF_ADDRESS = 100
WAIT = timedelta(minutes=15)
# A comparison takes a core for some hundredths of a second on purpose: so many at once in a process, and pages go on
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
        TooManyError, BusyError: nothing was compared. Who was told that others are busy has lost no attempt.
    """
    limits = {key_of(step, name, address): MOST_ATTEMPTS, key_of("", "", address): MOST_OF_ADDRESS}
    # Who is refused already writes nothing: participants wait for the same lock
    if _are_used_up(limits):
        raise TooManyError
    if not _comparing.acquire(blocking=False):
        raise BusyError
    try:
        now = timezone.now()
        if any(_count(key, now) > most for key, most in limits.items()):
            raise TooManyError
        yield
    finally:
        _comparing.release()


def succeeded(step: str, name: str, address: str) -> None:
    """All attempts at the name, this one among them, are taken back; of the address too, so that others who fail there
    alone use up its attempts."""
    own = SignInAttempts.objects.filter(key=key_of(step, name, address))
    found = own.values("n", "since").first()
    if found is None or not own.delete()[0]:
        return  # another success was first
    address_s = SignInAttempts.objects.filter(key=key_of("", "", address), n__gte=found["n"])
    address_s.filter(since__lte=found["since"]).update(
        n=F("n") - found["n"]
    )  # not of a later count


def forget_old_attempts() -> None:
    SignInAttempts.objects.filter(since__lt=timezone.now() - WAIT).delete()


def key_of(step: str, name: str, address: str) -> str:
    """By name and address: who fails elsewhere locks nobody out."""
    said = repr((step, name.casefold(), _network(address)))
    return salted_hmac("sign-in-attempts", said, algorithm="sha256").hexdigest()


def _network(address: str) -> str:
    """Of an IPv6 address what one connection is given as a whole: it has as many addresses as it likes.

    >>> _network("2001:db8:1:2:3:4:5:6"), _network("192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((found, 64), strict=False)) if found.version == 6 else address


def _are_used_up(limits: Mapping[str, int]) -> bool:
    began = timezone.now() - WAIT
    counted = SignInAttempts.objects.filter(key__in=limits, since__gte=began)
    return any(n >= limits[key] for key, n in counted.values_list("key", "n"))


def _count(key: str, now: datetime) -> int:
    with connection.cursor() as cursor:
        times = [connection.ops.adapt_datetimefield_value(at) for at in (now, now - WAIT)]
        cursor.execute(_COUNT, [key, times[0], times[1], times[1]])
        [n] = cursor.fetchone()
    return int(n)
