"""A temporary database for a benchmark: the site's is not touched."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from django.core.management import CommandError, call_command
from django.db import connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from experiment.models import Study


@contextmanager
def scratch_database() -> Iterator[Path]:
    """Within it every query goes to a new SQLite file with all tables; it is gone afterwards."""
    site = connections["default"]
    with tempfile.TemporaryDirectory(prefix="bench-analysis-") as folder:
        path = Path(folder) / "scratch.sqlite3"
        settings = {
            **site.settings_dict,
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(path),
            "OPTIONS": {"init_command": "PRAGMA synchronous=OFF"},
            **dict.fromkeys(("USER", "PASSWORD", "HOST", "PORT"), ""),
        }
        scratch = DatabaseWrapper(settings, alias="default")
        connections["default"] = scratch
        try:
            call_command("migrate", verbosity=0)
            yield path
        finally:
            scratch.close()
            connections["default"] = site


@contextmanager
def published_study(folder: Path) -> Iterator[Study]:
    """Within it the queries go to a scratch database with a copy of the published results.

    Raises:
        CommandError: the folder is not there, or does not hold them.
    """
    if not folder.is_dir():
        raise CommandError(f"{folder} is not a directory.")
    with scratch_database():
        call_command("import_brainbench", folder, "--json", stdout=StringIO())
        yield Study.objects.get(slug="brainbench")
