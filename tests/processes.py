"""Processes of the site that a test starts: with an environment of their own, or on the test's database."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.experiment.http_client import ROOT, database_url


def run(
    *arguments: str, folder: Path, timeout_s: int = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A Python that has only `environment`; the site's files are in `folder`."""
    base = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings"}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**base, "VAR_DIR": str(folder), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def on_the_tests_database(folder: Path) -> dict[str, str]:
    """The environment of a process that shares the test's rows and keys."""
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": settings.SECRET_KEY,
        "VAR_DIR": str(folder),
    }
