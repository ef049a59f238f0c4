"""Databases of tests: emptied quickly, and filled once for all who begin with the same rows."""

import sqlite3
from collections.abc import Callable

from django.db import connection, transaction

# Django's own flush empties these too, and writes the same rows anew after each test: half a second
KEPT = {"django_content_type", "auth_permission", "django_migrations"}

_copies: dict[Callable[[], object], sqlite3.Connection] = {}


def empty(*_: object) -> None:
    """Delete the rows of all tables that tests write to; keys go on counting."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    # Keys of other tables are looked at when all is deleted; TRUNCATE would make 200 files anew on PostgreSQL
    from experiment.models.triggers import drop_triggers, install_triggers  # see `restore`

    with transaction.atomic(), connection.cursor() as cursor:
        drop_triggers(connection.alias)  # some refuse to delete
        for table in sorted(set(tables) - KEPT):
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
        install_triggers(connection.alias)


def fill(write: Callable[[], object]) -> None:
    """Have in the empty database what `write` writes to it; on SQLite a copy, if this process did so before."""
    if connection.vendor != "sqlite":
        write()
    elif write in _copies:
        restore(_copies[write])
    else:
        write()
        _copies[write] = sqlite3.connect(":memory:", check_same_thread=False)
        copy_to(_copies[write])


def copy_to(other: sqlite3.Connection) -> None:
    """Have in `other` what is in the test's own SQLite database."""
    connection.ensure_connection()
    connection.connection.backup(other)


def restore(copy: sqlite3.Connection) -> None:
    """Replace what is in the test's own SQLite database by `copy`."""
    # The settings may not be read yet when this module is
    from django.contrib.contenttypes.models import ContentType

    connection.ensure_connection()
    copy.backup(connection.connection)
    ContentType.objects.clear_cache()
