"""Databases of tests: migrated once a run, emptied quickly, and filled once for all who begin with the same rows."""

import fcntl
import gc
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction

# Django's own flush empties these too, and writes the same rows anew after each test: half a second
KEPT = {"django_content_type", "auth_permission", "django_migrations"}

# A file on SQLite, a database's name on PostgreSQL; other databases with all tables are copies of it
_migrated = ""
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


def close_elsewhere() -> None:
    """Close what other threads have open: a browser of an earlier test keeps its connections to the server, and so its threads."""
    own = connections["default"]
    for found in gc.get_objects():
        # Not isinstance: it would ask lazy objects of others what they are
        if type(found) is type(own) and found is not own and found.connection is not None:
            found.connection.close()
            found.connection = None


def migrate_once(folder: Path) -> None:
    """Have this process's test database begin with all tables: to migrate one takes seconds; `folder`: of the run."""
    global _migrated
    with (folder / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_file, made = connection.vendor == "sqlite", folder / "migrated"
        _migrated = str(folder / "migrated.sqlite3") if is_file else _own_name()
        if not made.exists():
            if not is_file:
                _on_server(
                    f'DROP DATABASE IF EXISTS "{_migrated}"', f'CREATE DATABASE "{_migrated}"'
                )
            _migrate_there()
            made.touch()
    if not is_file:
        connection.settings_dict["TEST"]["TEMPLATE"] = _migrated
        return
    creation: Any = connection.creation
    create = creation._create_test_db

    def create_with_tables(*args: Any, **options: Any) -> str:
        name = str(create(*args, **options))
        shutil.copy(_migrated, name)
        return name

    creation._create_test_db = create_with_tables


def forget_migrated() -> None:
    """At the end of a run: the database that others were copies of; a file lies in the run's own folder."""
    if connection.vendor != "sqlite":
        with suppress(DatabaseError):  # no server, no database
            _on_server(f'DROP DATABASE IF EXISTS "{_own_name()}"')


def with_tables(command: str, *args: Any, **options: Any) -> Any:
    """As `call_command`; but before it migrates an empty database, that becomes a copy of the migrated one."""
    if command == "migrate" and not args and not connection.introspection.table_names():
        if connection.vendor == "sqlite":
            with closing(sqlite3.connect(_migrated)) as copy:
                restore(copy)
        else:
            name = connection.settings_dict["NAME"]
            connection.close()
            with suppress(DatabaseError):  # a server of the test's own has no such database
                _on_server(f'CREATE DATABASE "{name}_full" TEMPLATE "{_migrated}"')
                _on_server(
                    f'DROP DATABASE "{name}"', f'ALTER DATABASE "{name}_full" RENAME TO "{name}"'
                )
    return call_command(command, *args, **options)


def copy_migrated(to: Path) -> None:
    """An SQLite database with all tables, for a site in processes of its own."""
    shutil.copy(_migrated, to)


def _own_name() -> str:
    return f"{connection.settings_dict['NAME']}_migrated"


def _migrate_there() -> None:
    own, there = connections["default"], connections["default"].copy()
    there.settings_dict["NAME"] = _migrated
    connections["default"] = there
    try:
        call_command("migrate", verbosity=0, run_syncdb=True)
    finally:
        there.close()
        connections["default"] = own


def _on_server(*statements: str) -> None:
    with connection._nodb_cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
