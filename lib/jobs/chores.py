"""What is to be done once a day: functions that `DAILY_CHORES` names. One worker does each, whichever comes first."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from lib.jobs.models import Chore

logger = logging.getLogger(__name__)
DAY = timedelta(days=1)
AGAIN = timedelta(hours=1)  # after a failure, or where its worker died over it


def are_due() -> bool:
    waiting = Chore.objects.filter(name__in=settings.DAILY_CHORES, next_at__gt=Now())
    return waiting.count() < len(settings.DAILY_CHORES)


def do_due() -> None:
    """Do the chores whose time has come; one that fails is logged, and tried again later."""
    for name in settings.DAILY_CHORES:
        if not _take(name):
            continue
        try:
            import_string(name)()
        except Exception:
            logger.exception("Failed: %s", name)
        else:
            Chore.objects.filter(name=name).update(done_at=Now(), next_at=Now() + DAY)


def _take(name: str) -> bool:
    if Chore.objects.filter(name=name, next_at__lte=Now()).update(next_at=Now() + AGAIN):
        return True
    if Chore.objects.filter(name=name).exists():
        return False
    try:
        with transaction.atomic():
            Chore.objects.create(name=name, next_at=Now() + AGAIN)
    except IntegrityError:  # another worker was quicker
        return False
    return True
