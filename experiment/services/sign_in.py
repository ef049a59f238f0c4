"""How people prove who they are: tries that are counted, a second step of the lab's, sign-ins that end."""

from base64 import b32encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from threading import BoundedSemaphore
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_otp import verify_token
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from experiment.models import Participant, SignInAttempts, Study
from experiment.services import audit
from experiment.services.audit import Action
from lib.sessions import stored

MOST_ATTEMPTS = 10  # at one name, from one address
# Whatever the names: of a class behind one address some mistype, a program tries no dictionary
MOST_OF_ADDRESS = 100
# Wrong ones of a study, from one address: of a class some mistype, a program finds none of 59 bits
MOST_CODES = 100
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
    address_s = SignInAttempts.objects.filter(key=key_of("", "", address))
    _take_back(address_s.filter(since__lte=found["since"]), found["n"])  # not of a later count


Found = TypeVar("Found")


def by_own_code(
    study: Study, address: str, here: Participant | None, code: str, find: Callable[[], Found]
) -> Found:
    """The result of `find` by a participant's own code; where it finds nothing, that counts. `here`: whose code the browser was shown.

    Whoever types the code of their own page is never held up by others at their address.

    Raises:
        TooManyError: nothing was looked for.
    """
    if here is not None and Participant.objects.filter(pk=here.pk).with_code(code).exists():
        return find()
    key = key_of("own code", str(study.pk), address)
    if _are_used_up({key: MOST_CODES}) or _count(key, timezone.now()) > MOST_CODES:
        raise TooManyError
    found = find()
    if found is not None:
        _take_back(SignInAttempts.objects.filter(key=key), 1)
    return found


def forget_old_attempts() -> None:
    SignInAttempts.objects.filter(since__lt=timezone.now() - WAIT).delete()


def key_of(step: str, name: str, address: str) -> str:
    """By name and address: who fails elsewhere locks nobody out."""
    said = repr((step, name.casefold(), _network(address)))
    return salted_hmac("sign-in-attempts", said, algorithm="sha256").hexdigest()


def _network(address: str) -> str:
    """The network of an address: of an IPv6 address what one connection is given as a whole, as it has as many addresses as it likes.

    >>> _network("2001:db8:1:2:3:4:5:6"), _network("192.0.2.7"), _network("::ffff:192.0.2.7")
    ('2001:db8:1:2::/64', '192.0.2.7', '192.0.2.7')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        # As a socket for both kinds names IPv4: each is one
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ip_network((found, 64), strict=False))
    return address


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


def _take_back(counted: QuerySet[SignInAttempts], n: int) -> None:
    counted.filter(n__gte=n).update(n=F("n") - n)
    counted.filter(n=0).delete()  # one that counts again meanwhile is not 0


N_RECOVERY_CODES = 10


class TooSoonError(Exception):
    """A code right after a wrong one is not compared: each has to wait twice as long as the last, from a second on."""


def has_second_step(user: User | AnonymousUser) -> bool:
    return bool(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists())


def is_verified(user: User | AnonymousUser) -> bool:
    """True if the user has given a code since they signed in; a user of a request knows."""
    return bool(user.is_verified())  # type: ignore[union-attr]


def new_app(user: User) -> TOTPDevice:
    """The key for the user's app; the same until a code of it confirms it, or the password changes.

    Whoever was at the account before a change may know the key, so its name says of which password it is.
    """
    own = {"user": user, "confirmed": False, "name": user.get_session_auth_hash()}
    # Two requests at once may have made two: both pages show the first
    found = TOTPDevice.objects.filter(**own).order_by("pk").first()
    return found or TOTPDevice.objects.create(**own)


def spelled_key(device: TOTPDevice) -> str:
    """The key, to be typed where no picture can be read."""
    text = b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(text[n : n + 4] for n in range(0, len(text), 4))


def check_code(user: User, code: str) -> TOTPDevice | StaticDevice | None:
    """The device whose code this is; None where it is wrong or was used.

    Raises:
        TooSoonError: it was not compared.
    """
    kind = TOTPDevice if code.isdecimal() else StaticDevice
    device = kind.objects.filter(user=user, confirmed=True).first()
    return None if device is None else _verified(device, code.lower())


@transaction.atomic
def confirm_app(user: User, code: str) -> tuple[TOTPDevice, list[str]] | None:
    """From now on the app's codes are asked for. Gives it and the recovery codes; None for a wrong code.

    Raises:
        TooSoonError: it was not compared.
    """
    device = new_app(user)
    if not _verified(device, code):
        return None
    device.refresh_from_db()
    device.confirmed, device.name = True, "app"
    device.save(update_fields=["confirmed", "name"])
    audit.record(Action.SECOND_STEP, by=user, change="on")
    return device, _new_codes(user)


@transaction.atomic
def new_recovery_codes(user: User) -> list[str]:
    """In place of all that were."""
    audit.record(Action.SECOND_STEP, by=user, change="recovery codes")
    return _new_codes(user)


@transaction.atomic
def switch_off(user: User) -> None:
    for kind in (TOTPDevice, StaticDevice):
        kind.objects.filter(user=user).delete()
    audit.record(Action.SECOND_STEP, by=user, change="off")


def n_recovery_codes(user: User) -> int:
    return sum(device.token_set.count() for device in StaticDevice.objects.filter(user=user))


def _verified(device: TOTPDevice | StaticDevice, code: str) -> TOTPDevice | StaticDevice | None:
    if not device.verify_is_allowed()[0]:
        raise TooSoonError
    found: TOTPDevice | StaticDevice | None = verify_token(device.user, device.persistent_id, code)
    return found


def _new_codes(user: User) -> list[str]:
    device, _ = StaticDevice.objects.get_or_create(user=user, defaults={"name": "recovery codes"})
    device.token_set.all().delete()
    kind = device.token_set.model
    codes = [kind.random_token() for _ in range(N_RECOVERY_CODES)]
    kind.objects.bulk_create([kind(device=device, token=code) for code in codes])
    return codes


LONGEST = timedelta(days=7)  # then one signs in again, whatever one does
IDLE = timedelta(hours=12)  # a working day; the screen of a lab locks earlier
NOTED_EVERY = timedelta(minutes=5)  # not a write for each page
BEGAN, SEEN = "began", "seen"  # in the session, in seconds


def begin_session(session: SessionBase) -> None:
    """Somebody has just shown who they are."""
    session[BEGAN] = session[SEEN] = timezone.now().timestamp()


def keep_or_end(session: SessionBase, *, is_asked: bool = True) -> None:
    """End a sign-in that is too old. `is_asked`: by a person, not by a page that keeps itself current."""
    if SESSION_KEY not in session:
        return
    if BEGAN not in session:  # of an earlier release: nobody knows since when
        session.flush()
        return
    now = timezone.now().timestamp()
    since_seen = now - session[SEEN]
    if now - session[BEGAN] > LONGEST.total_seconds() or since_seen > IDLE.total_seconds():
        session.flush()
    elif is_asked and since_seen > NOTED_EVERY.total_seconds():
        session[SEEN] = now


def elsewhere(user: User, here: SessionBase) -> list[Session]:
    """The user's other sign-ins that have not ended.

    Rows do not say whose they are: those alone are opened that somebody used within `IDLE`, which each use puts off.
    """
    own, pk = stored(here.session_key), str(user.pk)
    used_since = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE) - IDLE
    others = Session.objects.filter(expire_date__gte=used_since).exclude(session_key=own)
    return [other for other in others.iterator() if other.get_decoded().get(SESSION_KEY) == pk]


def end_elsewhere(user: User, here: SessionBase) -> int:
    """How many ended. A key that one of them was shown, and that no code has confirmed, is of no use any more."""
    TOTPDevice.objects.filter(user=user, confirmed=False).delete()
    keys = [other.pk for other in elsewhere(user, here)]
    return Session.objects.filter(pk__in=keys).delete()[0]


def record_sign_in(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    begin_session(request.session)
    audit.record(Action.SIGNED_IN, by=user)


def record_failure(sender: Any, credentials: dict[str, Any], **_: Any) -> None:
    user = User.objects.filter(username=credentials.get("username")).first()
    if user is not None:
        audit.record(Action.SIGN_IN_FAILED, name=user.get_username(), step="password")
