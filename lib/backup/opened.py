"""Lets this process ask another database in place of the site's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.db.utils import load_backend

ALIAS = "default"


@contextmanager
def opened(values: Mapping[str, Any]) -> Iterator[None]:
    """Within it every query of this thread goes to the database that these settings name."""
    site = connections[ALIAS]
    merged = {**site.settings_dict, "OPTIONS": {}, **values}
    merged |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False}
    wrapper = load_backend(merged["ENGINE"]).DatabaseWrapper(merged, alias=ALIAS)
    connections[ALIAS] = wrapper
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        wrapper.close()
        connections[ALIAS] = site
        ContentType.objects.clear_cache()


def sqlite_file(path: Path) -> dict[str, Any]:
    """Settings of a database in a file of our own."""
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), "OPTIONS": {}}
