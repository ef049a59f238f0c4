"""What is done once a day: a worker calls each (`DAILY_CHORES` in the settings)."""

from django.utils import timezone

from experiment.services import kept_uploads
from experiment.services.people import attempts
from experiment.services.recruitment import forget_ids


def forget_overdue_ids() -> None:
    """Erase the recruitment ids whose day has passed, as the consent page promised."""
    forget_ids(timezone.now().date())


def forget_old_attempts() -> None:
    """Delete counts of failed sign-ins that hold nobody up any more."""
    attempts.forget_old_attempts()


def forget_old_uploads() -> None:
    """Delete files of test cases that were sent to be looked at and never imported."""
    kept_uploads.forget_old()
