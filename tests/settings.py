"""The site's settings as tests need them: what is not tested is made quick, nothing is made lenient."""

import os

from config.env import parse_storage
from config.settings import *  # noqa: F403 (these are the settings, changed below)
from config.settings import DATABASES, INSTALLED_APPS, STORAGES, VAR_DIR

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]

STORAGES = {
    **STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "withdrawals": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    # Not the site's, nor another process's of the run: its rows have the same ids
    "results": parse_storage(
        str(VAR_DIR / f"test-files-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"), "results"
    ),
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, since threads and other processes look at it too; one per run, so that runs never meet
    # Nothing is to outlive a power cut: on a busy disk each commit would wait for it
    DATABASES["default"]["OPTIONS"]["init_command"] = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
    )
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / f"test-{os.getpid()}.sqlite3")}
else:
    # Likewise
    options = DATABASES["default"].setdefault("OPTIONS", {})
    options["options"] = f"{options.get('options', '')} -c synchronous_commit=off".strip()

# A test holds its transaction open; a heartbeat would wait for SQLite's lock until the test ends
JOB_STALE_SECONDS = 600

# Tests ask quickly one after the other
API_REQUESTS_PER_MINUTE = API_ANONYMOUS_PER_MINUTE = 100_000

# Servers that stand in for models' listen on whatever port is free
SCORING_HOSTS = ["localhost:*", "127.0.0.1:*", "[::1]:*"]
ONE_ROOM = True  # tests open studies to recruitment sites from 127.0.0.1
