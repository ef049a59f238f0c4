"""What is done once a day: a worker calls each (`DAILY_CHORES` in the settings)."""

from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from experiment.models import Study
from experiment.services import kept_uploads, recount
from experiment.services.people import attempts
from experiment.services.recruitment import forget_ids


class DriftError(Exception):
    """Counters are wrong."""


def forget_overdue_ids() -> None:
    """Erase the recruitment ids whose day has passed, as the consent page promised."""
    forget_ids(timezone.now().date())


def forget_old_attempts() -> None:
    """Delete counts of failed sign-ins that hold nobody up any more."""
    attempts.forget_old_attempts()


def forget_old_uploads() -> None:
    """Delete files of test cases that were sent to be looked at and never imported."""
    kept_uploads.forget_old()


def forget_ended_sessions() -> None:
    """Delete sign-ins that have run out; nothing else does."""
    SessionStore.clear_expired()


def check_counters() -> None:
    """Fail, for the log and for /healthz/deep, where a counter does not say what the rows do; check_counters repairs it."""
    found = recount.check(Study.objects.all())
    if found:
        raise DriftError(f"{len(found)} counters differ from the rows")
