"""Databases of tests: migrated once a run, emptied quickly, and filled once for all who begin with the same rows."""

import fcntl
import gc
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

# Django's own flush empties these too, and writes the same rows anew after each test: half a second
KEPT = {"django_content_type", "auth_permission", "django_migrations"}

TRIES = 5

_end_savepoint = BaseDatabaseWrapper.savepoint_commit

# A file on SQLite, a database's name on PostgreSQL; other databases with all tables are copies of it
_migrated = ""


@contextmanager
def _without_triggers() -> Iterator[CursorWrapper]:
    """A transaction in which all rows may be replaced; some triggers refuse that."""
    # Django may not be set up yet when this module is read
    from experiment.models.triggers import TRIGGERS, drop_triggers, install_triggers

    tables = sorted({trigger.table for trigger in TRIGGERS})
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            drop_triggers(connection.alias)
            yield cursor
            install_triggers(connection.alias)
        else:
            _execute(cursor, (f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables))
            yield cursor
            # PostgreSQL alters no table whose keys are still to be looked at
            _execute(cursor, ("SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL DEFERRED"))
            _execute(cursor, (f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in tables))


def _execute(cursor: CursorWrapper, statements: Iterable[str]) -> None:
    """PostgreSQL takes all in one message: to wait for each is most of what it takes."""
    if connection.vendor == "postgresql":
        statements = ["; ".join(statements)]
    for statement in statements:
        cursor.execute(statement)


def _delete_all(cursor: CursorWrapper) -> None:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    # Keys of other tables are looked at when all is deleted; TRUNCATE would make 200 files anew on PostgreSQL
    names = (connection.ops.quote_name(table) for table in sorted(set(tables) - KEPT))
    _execute(cursor, (f"DELETE FROM {name}" for name in names))


def empty(*_: object) -> None:
    """Delete the rows of all tables that tests write to; keys go on counting.

    A live server may still read for the page that a browser left last: PostgreSQL ends one of two that wait for each other.
    """
    for left in reversed(range(TRIES)):
        try:
            with _without_triggers() as cursor:
                _delete_all(cursor)
            return
        except OperationalError:
            if not left:
                raise


def end_savepoint(self: Any, sid: str) -> None:
    """A test that is rolled back commits nothing: what a transaction does last is done as the savepoint ends that stands for it."""
    if self.atomic_blocks and self.atomic_blocks[-1]._from_testcase:
        self.do_last()
    _end_savepoint(self, sid)


def fill(name: str, write: Callable[[], Any], folder: Path) -> Any:
    """Have in the empty database what `write` writes; return what it returned, which must be JSON.

    It is written once a run; whoever asks later gets a copy of the rows. `folder`: of all workers of the run.
    """
    if connection.vendor == "sqlite" and connection.in_atomic_block:
        return write()  # no copy is made of a file that a transaction has changed
    rows, answer = folder / f"{name}.rows", folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if answer.exists():
            restore(rows)
        else:
            returned = write()
            copy_to(rows)
            answer.write_text(json.dumps(returned), encoding="utf-8")
    return json.loads(answer.read_text(encoding="utf-8"))


def copy_to(place: Path) -> None:
    """Have at `place` what is in the test's own database: as an SQLite file, or PostgreSQL's rows as text."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(place)) as file:
            connection.connection.backup(file)
        return
    with ZipFile(place, "w") as archive, connection.cursor() as cursor:
        for table, columns in _columns().items():
            select = f"COPY {table} ({columns}) TO STDOUT"
            with archive.open(f"{table} ({columns})", "w") as file, cursor.copy(select) as rows:
                file.writelines(rows)


def restore(place: Path) -> None:
    """Replace what is in the test's own database by what `copy_to` left there."""
    from django.contrib.contenttypes.models import ContentType

    connection.ensure_connection()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(place)) as file:
            file.backup(connection.connection)
    else:
        with _without_triggers() as cursor, ZipFile(place) as archive:
            _delete_all(cursor)
            for name in archive.namelist():
                with cursor.copy(f"COPY {name} FROM STDIN") as rows:
                    rows.write(archive.read(name))
            models = [model for model in apps.get_models() if model._meta.managed]
            for statement in connection.ops.sequence_reset_sql(no_style(), models):
                cursor.execute(statement)
    ContentType.objects.clear_cache()


def _columns() -> dict[str, str]:
    """The columns of each table that tests write to; a migrated table has them in another order than a new one."""
    return {
        model._meta.db_table: ", ".join(
            f'"{field.column}"'
            for field in model._meta.local_concrete_fields
            if not field.generated
        )
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model._meta.db_table not in KEPT
    }


def close_elsewhere() -> None:
    """Close what other threads have open: a browser of an earlier test keeps its connections to the server, and so its threads."""
    own = connections["default"]
    gc.unfreeze()  # one that was made while tests were collected would not be listed
    for found in gc.get_objects():
        # Not isinstance: it would ask lazy objects of others what they are
        if type(found) is type(own) and found is not own and found.connection is not None:
            found.connection.close()
            found.connection = None
    gc.freeze()


def end_other_sessions() -> None:
    """PostgreSQL drops no database that somebody else is connected to."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


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
            restore(Path(_migrated))
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
