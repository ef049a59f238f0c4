"""Moves a backup to the other kind of database, row by row, and compares the rows afterwards."""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
from django.core.management import call_command
from django.db import connection, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from lib.backup import columns, files, postgres, sqlite
from lib.backup.columns import Form
from lib.backup.making import Announce, Values, opened, refuse_newer, sqlite_file
from lib.backup.manifest import BackupError, DatabaseCopy
from lib.backup.rows import (
    DumpRows,
    PostgresRows,
    Row,
    Source,
    SqliteRows,
    Table,
    Target,
    refusal,
)

AT_ONCE = 1_000  # rows between two announcements


@dataclass
class Tally:
    """Counts rows, and adds their SHA-256 as numbers, so that their order makes no difference."""

    rows: int = 0
    digests: int = 0

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            digest = hashlib.sha256(repr(row).encode()).digest()
            self.rows += 1
            self.digests += int.from_bytes(digest)
            yield row

    @property
    def digest(self) -> str:
        return f"{self.digests % 2**256:064x}"[:16]


def to_sqlite(dump: Path, database: DatabaseCopy, path: Path, announce: Announce) -> None:
    """Have the rows of a PostgreSQL dump in a new SQLite file.

    Raises:
        BackupError: a value cannot be kept, or the rows differ afterwards; the file is then of no use.
    """
    with files.private_file(path):
        pass
    announce("Making the tables", 0, 0)
    with opened(sqlite_file(path)):
        tables = _tables(database)
    server, total = int(database.server.partition(".")[0]), sum(database.rows.values())
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("BEGIN")
        move_rows(DumpRows(dump, server), SqliteRows(file), tables, total, announce)
        file.execute("COMMIT")


def to_postgres(source: Path, database: DatabaseCopy, values: Values, announce: Announce) -> None:
    """Have the rows of an SQLite file in a PostgreSQL database and nothing else, or all that was there before.

    Raises:
        BackupError: as `to_sqlite`, or the database's user lacks rights.
    """
    sqlite.check(source)
    total = sum(database.rows.values())
    announce("Making the tables", 0, 0)
    try:
        with opened(values), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute(postgres.EMPTY)
            # A table is not altered while keys of its rows are still to be looked at
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            tables = _tables(database)
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            with closing(sqlite3.connect(source)) as file, connection.connection.cursor() as raw:
                move_rows(SqliteRows(file), PostgresRows(raw), tables, total, announce)
                announce("Checking keys", 0, 0)
                raw.execute("SET CONSTRAINTS ALL IMMEDIATE")
            if not refuse_newer(database.migrations):
                # Triggers come with the rows, or not at all
                call_command("migrate", verbosity=0)
    except psycopg.Error as error:
        raise BackupError(refusal(error, "the backup")) from error


def _tables(database: DatabaseCopy) -> dict[str, Table]:
    """Makes the tables of the backup's own migrations in the open database; without signals, so that no trigger is there yet."""
    executor = MigrationExecutor(connection)
    applied = set(database.migrations)
    graph = executor.loader.graph
    replaced = {key: {".".join(old) for old in each.replaces} for key, each in graph.nodes.items()}
    wanted = {
        key for key, old in replaced.items() if ".".join(key) in applied or (old and old <= applied)
    }
    # Only the last ones: asked for others after them, Django would go back
    ends = [
        key
        for key in wanted
        if wanted.isdisjoint(each.key for each in graph.node_map[key].children)
    ]
    state = executor.migrate(sorted(ends))
    made: list[type[models.Model]] = [
        model
        for model in state.apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    ]
    made.append(MigrationRecorder.Migration)
    tables = {model._meta.db_table: _table(model) for model in made}
    unknown = [name for name in database.rows if name not in tables]
    if odd := next((name for name in unknown if not name.startswith(sqlite.OWN)), None):
        raise BackupError(
            f"The backup has the table {odd}, which no migration of the site makes. Delete it in the site, and make another "
            "backup, or restore this one to the same kind of database."
        )
    return tables


def _table(model: type[models.Model]) -> Table:
    key = model._meta.pk
    fields = [key, *(each for each in model._meta.local_concrete_fields if each is not key)]
    forms: dict[str, Form] = {}
    for each in fields:
        try:
            if not each.generated:
                forms[str(each.column)] = columns.form(each)
        except LookupError as error:
            raise BackupError(
                f"{model._meta.db_table}: the column {each.column} has the type {error}, which cannot be moved to another kind of "
                "database."
            ) from error
    return Table(model._meta.db_table, forms, isinstance(key, models.AutoField))


def move_rows(
    source: Source, target: Target, tables: Mapping[str, Table], total: int, announce: Announce
) -> None:
    """Has the source's rows in the target, and nothing that migrations wrote; of `total` rows it announces how many are done.

    Raises:
        BackupError: a value cannot be kept, a constraint does not hold, or the target has other rows afterwards.
    """
    for table in tables.values():
        target.clear(table)
    read: dict[str, Tally] = {}
    for table, rows in source.tables(tables):
        before = sum(tally.rows for tally in read.values())
        tally = read[table.name] = Tally()
        target.write(
            table, tally.counted(_announced(rows, "Copying rows", before, total, announce))
        )
    if missing := sorted(tables.keys() - read.keys()):
        raise BackupError(f"The backup does not contain the table {missing[0]}.")
    done = 0
    for table in tables.values():
        rows = _announced(target.read(table), "Comparing rows", done, total, announce)
        highest = _compare(table, read[table.name], rows)
        done += read[table.name].rows
        if table.counts:
            # The key of a row that was deleted is never given to another one
            last = max(source.last_keys.get(table.name, 0), highest)
            target.set_last_key(table, last)
            if (found := target.last_key(table)) != last:
                raise BackupError(f"The keys of {table.name} would go on after {found}, not {last}.")  # fmt: skip


def _compare(table: Table, read: Tally, rows: Iterator[Row]) -> int:
    """The highest key among the rows, 0 where the database gives none; BackupError where they are not those that were read."""
    found, highest = Tally(), 0
    for row in found.counted(rows):
        if table.counts:
            highest = max(highest, int(row[0] or 0))
    if found != read:
        raise BackupError(
            f"The rows of {table.name} differ after the move: {found.rows:,} rows with the digest {found.digest}. "
            f"Expected: {read.rows:,} rows with the digest {read.digest}. The database was not changed. Report this as a fault."
        )
    return highest


def _announced(
    rows: Iterable[Row], what: str, done: int, total: int, announce: Announce
) -> Iterator[Row]:
    for n, row in enumerate(rows, done):
        if n % AT_ONCE == 0:
            announce(what, n, total)
        yield row
