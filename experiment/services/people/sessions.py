"""Who is signed in where: sign-ins end after a time, and at every place when how one signs in changes."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.utils import timezone

LONGEST = timedelta(days=7)  # then one signs in again, whatever one does
IDLE = timedelta(hours=12)  # a working day; the screen of a lab locks earlier
NOTED_EVERY = timedelta(minutes=5)  # not a write for each page
BEGAN, SEEN = "began", "seen"  # in the session, in seconds


def begin(session: SessionBase) -> None:
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
    own, pk = here.session_key, str(user.pk)
    used_since = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE) - IDLE
    others = Session.objects.filter(expire_date__gte=used_since).exclude(session_key=own)
    return [other for other in others.iterator() if other.get_decoded().get(SESSION_KEY) == pk]


def end_elsewhere(user: User, here: SessionBase) -> int:
    """How many ended."""
    keys = [other.pk for other in elsewhere(user, here)]
    return Session.objects.filter(pk__in=keys).delete()[0]
