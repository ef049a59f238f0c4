"""The facts about a site that a report of a fault needs: no key, no address, no name of a person or study."""

import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import django
from django.conf import settings
from django.db import DatabaseError, connection

from experiment.models import Item, Participant, Study, Trial
from lib.code import release, revision
from lib.migrated import pending_migrations
from scoring.models import AnsweringRun, ChoiceRun, GradingRun, LanguageModel, ScoringRun

RUNS = (ScoringRun, ChoiceRun, AnsweringRun, GradingRun)


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of rows, of all studies together."""

    studies: int
    participants: int
    trials: int
    items: int
    models: int
    runs: int


@dataclass(frozen=True, slots=True)
class About:
    """revision: "" where this does not run from a repository. torch, transformers: None where they are not installed.

    database_server, pending_migrations, counts: None where the database did not answer, for the reason `database_error`; counts
    also where tables are missing.
    """

    release: str
    revision: str
    python: str
    platform: str
    django: str
    torch: str | None
    transformers: str | None
    database: str
    database_server: str | None
    database_error: str
    pending_migrations: list[str] | None
    cache: str
    free_disk_bytes: int
    counts: Counts | None


def about() -> About:
    """The facts of this moment; a database that fails is one of them."""
    server, pending, counts, fault = None, None, None, ""
    try:
        with connection.cursor():
            server = ".".join(map(str, connection.get_database_version()))
        pending = pending_migrations()
        counts = None if pending else count()
    except DatabaseError as error:
        fault = type(error).__name__  # its words may hold an address
    return About(
        release=release(),
        revision=revision(),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        django=django.get_version(),
        torch=_installed("torch"),
        transformers=_installed("transformers"),
        database=connection.vendor,
        database_server=server,
        database_error=fault,
        pending_migrations=pending,
        cache=settings.CACHES["default"]["BACKEND"].rpartition(".")[2],
        free_disk_bytes=shutil.disk_usage(settings.VAR_DIR).free,
        counts=counts,
    )


def count() -> Counts:
    return Counts(
        studies=Study.objects.count(),
        participants=Participant.objects.count(),
        trials=Trial.objects.count(),
        items=Item.objects.count(),
        models=LanguageModel.objects.count(),
        runs=sum(kind._default_manager.count() for kind in RUNS),
    )


def _installed(package: str) -> str | None:
    """Its version; to import torch would take seconds."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
