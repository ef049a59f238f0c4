"""Checks of what the site needs to answer, part by part: each says nothing, or raises."""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from django.conf import settings
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection
from django.db.models.functions import Now

from lib.jobs import workers as workers_service
from lib.jobs.models import Chore
from lib.jobs.queue import celery_app
from lib.migrated import is_migrated
from lib.storage import HEALTH

LEAST_FREE_BYTES = 512 * 1024 * 1024
BROKER_S = 3
CHORE_LATE = timedelta(days=2)
FILES = ("token_records", "results", "withdrawals")


class NotWellError(Exception):
    """A part does not work; its text names no address, no path and no secret."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    problem: str = ""

    @property
    def line(self) -> str:
        return f"{self.name}: {self.problem or 'ok'}"


def look_at(checks: Iterable[tuple[str, Callable[[], None]]]) -> list[Part]:
    """Every part, whatever the others do."""
    found = []
    for name, check in checks:
        problem = ""
        try:
            check()
        except NotWellError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 (a driver's, of any kind; its text may hold an address)
            problem = type(error).__name__
        found.append(Part(name, problem))
    return found


def database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


def migrations() -> None:
    if not _is_migrated():
        _is_migrated.cache_clear()
        raise NotWellError("some are not applied")


# Asked until it is so: whoever takes migrations back restarts the site
_is_migrated = cache(is_migrated)


def static_files() -> None:
    if isinstance(staticfiles_storage, ManifestFilesMixin) and not staticfiles_storage.hashed_files:
        raise NotWellError("none were collected")


def storage() -> None:
    """One file for each of the site's kinds of files, the same each time: a bucket may keep whatever is deleted."""
    for name in FILES:
        storages[name].save(f"{HEALTH}/written", ContentFile(b"ok"))


def broker() -> None:
    if settings.JOB_EXECUTOR == "celery":
        with celery_app().connection_for_write(connect_timeout=BROKER_S) as link:
            link.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_S)


def workers() -> None:
    if not workers_service.living():
        raise NotWellError("none was seen recently")


def disk() -> None:
    free = shutil.disk_usage(settings.VAR_DIR).free
    if free < LEAST_FREE_BYTES:
        raise NotWellError(f"{free // 1024**2} MiB are free")


def chores() -> None:
    """The daily work of workers, the check of the counters among it."""
    late = Chore.objects.filter(name__in=settings.DAILY_CHORES, next_at__lt=Now() - CHORE_LATE)
    done = Chore.objects.filter(name__in=settings.DAILY_CHORES, done_at__isnull=False)
    names = {name.rpartition(".")[2] for name in settings.DAILY_CHORES}
    names -= {name.rpartition(".")[2] for name in done.values_list("name", flat=True)}
    names |= {name.rpartition(".")[2] for name in late.values_list("name", flat=True)}
    if names:
        raise NotWellError(f"not done: {json.dumps(sorted(names))}")


READY = (("database", database), ("migrations", migrations), ("static files", static_files))
DEEP = (
    *READY,
    ("storage", storage),
    ("broker", broker),
    ("workers", workers),
    ("disk", disk),
    ("chores", chores),
)
