"""Brings a backup back: into a scratch database to see that it holds, or in the place of a site's."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Generic, TypeVar

import psycopg
from django.core.files.storage import storages
from django.core.management import call_command
from psycopg import sql

from lib.backup import files, moving, postgres, sqlite
from lib.backup.making import (
    FILES,
    Announce,
    Values,
    applied_migrations,
    opened,
    refuse_newer,
    sqlite_file,
    table_rows,
)
from lib.backup.manifest import BackupError, Facts, Manifest
from lib.backup.postgres import connected, refuse_used

T = TypeVar("T")
Target = Callable[[Path, Manifest, Values, Announce], AbstractContextManager[Values]]
LATE = "token_records"  # rows name them


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of the backup's manifest beside what is there."""

    what: str
    said: str
    found: str

    @property
    def holds(self) -> bool:
        return self.said == self.found


@dataclass(frozen=True, slots=True)
class Restored(Generic[T]):
    migrated: list[str]  # what an older backup still needed
    files: int
    again: T  # what the site did to it before anybody sees it


def vendor(values: Values) -> str:
    return "sqlite" if values["ENGINE"].endswith("sqlite3") else "postgresql"


def check_files(folder: Path, manifest: Manifest) -> None:
    for name, stored in manifest.files.items():
        files.check(folder, name, stored)


def verify(
    folder: Path,
    manifest: Manifest,
    values: Values,
    facts: Callable[[], Facts],
    must: Facts,
    announce: Announce,
) -> list[Finding]:
    """Compare a copy that is restored beside the site with what was counted when the backup was made."""
    needed = refuse_newer(manifest.database.migrations)
    with _scratch(folder, manifest, values, announce) as scratch, opened(scratch):
        found = compare_rows(manifest)
        if all(each.holds for each in found):
            if needed:
                call_command("migrate", verbosity=0)
            found += compare_facts({**manifest.database.facts, **must}, facts())
        return found


@contextmanager
def _scratch(
    folder: Path, manifest: Manifest, values: Values, announce: Announce
) -> Iterator[Values]:
    if vendor(values) == "sqlite":
        with temporary_folder(folder.parent, "verify-") as place:
            copy = place / sqlite.FILE
            _put_in_file(folder, manifest, copy, announce)
            yield sqlite_file(copy)
    else:
        with beside(values, VERIFY) as scratch:
            # Rows that were counted otherwise are a finding here
            _put_in_postgres(folder, manifest, scratch, announce, rows={})
            yield scratch


def _put_in_file(folder: Path, manifest: Manifest, path: Path, announce: Announce) -> None:
    source = folder / manifest.database.file
    if manifest.database.engine == "sqlite":
        sqlite.copy_file(source, path)
    else:
        moving.to_sqlite(source, manifest.database, path, announce)
    sqlite.check(path)


def _put_in_postgres(
    folder: Path, manifest: Manifest, values: Values, announce: Announce, rows: postgres.Rows
) -> None:
    source = folder / manifest.database.file
    if manifest.database.engine == "sqlite":
        moving.to_postgres(source, manifest.database, values, announce)
    else:
        with opened(values):
            server = postgres.server_version()
        postgres.restore(source, values, server, rows)


def compare_rows(manifest: Manifest) -> list[Finding]:
    """Tables by name; most sites' are few enough to name each. SQLite's own tables do not come to PostgreSQL."""
    rows, said = (
        {table: n for table, n in counted.items() if not table.startswith(sqlite.OWN)}
        for counted in (table_rows(), manifest.database.rows)
    )
    found = [
        Finding(f"rows of {table}", str(said.get(table, "none")), str(rows.get(table, "none")))
        for table in sorted(said.keys() | rows.keys())
    ]
    wrong = [each for each in found if not each.holds]
    total = Finding("rows of all tables", str(sum(said.values())), str(sum(rows.values())))
    migrations = applied_migrations()
    before = manifest.database.migrations
    lists = Finding("migrations", str(len(before)), str(len(migrations)))
    return [*(wrong or [total]), lists]


def compare_facts(said: Facts, facts: Facts) -> list[Finding]:
    """Compares only what the backup's release knew of its rows."""
    return [Finding(name, str(said.get(name, fact)), str(fact)) for name, fact in facts.items()]


def restore(
    folder: Path,
    manifest: Manifest,
    values: Values,
    *,
    replace: bool,
    with_files: bool,
    again: Callable[[], T],
    announce: Announce,
) -> Restored[T]:
    """Have the site as it was, with what `again` does to it; refused where anything is there and may not be replaced."""
    needed = refuse_newer(manifest.database.migrations)
    is_sqlite = vendor(values) == "sqlite"
    path = Path(values["NAME"])
    if tables := sqlite.tables(path) if is_sqlite else postgres.table_count(values):
        if not replace:
            raise BackupError(
                f"The database {values['NAME']} has {tables} tables. --replace deletes them with their data and restores the "
                "backup."
            )
        sqlite.refuse_used(path) if is_sqlite else postgres.refuse_used(values)
    # Who withdrew is gone before anybody sees the database; records belong to the rows that name them
    early = copy_files_in(folder, manifest, announce) if with_files else set()
    announce("Restoring the database", 0, 0)
    target: Target = _into_sqlite if is_sqlite else _into_postgres(values, announce)
    with target(folder, manifest, values, announce) as restored, opened(restored):
        if wrong := [each for each in compare_rows(manifest) if not each.holds]:
            raise BackupError(difference(wrong[0]))
        announce("Migrating", 0, 0)
        call_command("migrate", verbosity=0)
        done = again()
    late = copy_files_in(folder, manifest, announce, but=early) if with_files else set()
    return Restored(needed, len(early | late), done)


@contextmanager
def _into_sqlite(
    folder: Path, manifest: Manifest, values: Values, announce: Announce
) -> Iterator[Values]:
    """Made ready beside its place, which it takes at the end of the block."""
    path = Path(values["NAME"])
    staged = path.with_name(f"{path.name}.restoring")
    staged.unlink(missing_ok=True)
    try:
        _put_in_file(folder, manifest, staged, announce)
        yield sqlite_file(staged)
        sqlite.refuse_used(path)
        sqlite.replace(path, staged)
    finally:
        staged.unlink(missing_ok=True)


def _into_postgres(values: Values, announce: Announce) -> Target:
    if not (why := why_not_beside(values)):
        return _beside_postgres
    announce(
        f"The database {values['NAME']} is restored in place, because {why}. If a migration or a repeated "
        "withdrawal fails, the database has the rows of the backup; then run the command again",
        0,
        0,
    )
    return _within_postgres


@contextmanager
def _beside_postgres(
    folder: Path, manifest: Manifest, values: Values, announce: Announce
) -> Iterator[Values]:
    """Made ready beside its place, which it takes at the end of the block."""
    with beside(values, RESTORING) as made:
        with _within_postgres(folder, manifest, made, announce):
            yield made
        take_place(values, made)


@contextmanager
def _within_postgres(
    folder: Path, manifest: Manifest, values: Values, announce: Announce
) -> Iterator[Values]:
    _put_in_postgres(folder, manifest, values, announce, manifest.database.rows)
    yield values
    postgres.analyze(values)


def copy_files_in(
    folder: Path, manifest: Manifest, announce: Announce, *, but: Collection[str] | None = None
) -> set[str]:
    """The names of files that were put back: all that may come early or, late, what rows name, `but` those that came early.

    Tombstones that are there stay, whatever the backup says; other files are as they were. Results come early: withdrawing
    again deletes those of who withdrew. Token records that are there are replaced late, with the rows that name them; missing
    ones come early, so that no site lacks them that looks whole.
    """
    done = set()
    for name in manifest.files:
        top, _, rest = name.partition("/")
        part, _, inner = rest.partition("/")
        if top != FILES or (but is not None and (part != LATE or name in but)):
            continue
        announce(f"Putting files back: {part}", 0, 0)
        over = part != "withdrawals" and (part != LATE or but is not None)
        if files.copy_in(storages[part], inner, folder / name, over=over):
            done.add(name)
    return done


def difference(finding: Finding) -> str:
    return f"{finding.what}: {finding.found}. Expected: {finding.said}."


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Locked as long as this process lives: of another's, the lock tells whether anybody uses it."""
    with _locked(parent, fcntl.LOCK_EX):  # nobody takes a new one for a left one
        for left in parent.glob(f"{prefix}*"):
            with suppress(BlockingIOError), _locked(left, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(left)
        place = Path(mkdtemp(prefix=prefix, dir=parent))
        held = os.open(place, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield place
    finally:
        shutil.rmtree(place)
        os.close(held)


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


VERIFY, RESTORING, REPLACED = "verify", "restoring", "replaced"
OURS = re.compile(f"_({VERIFY}|{RESTORING}|{REPLACED})_[0-9]+")
LOCK = 0x42_61_63_6B  # of this module alone; whoever makes one waits for whoever clears
THIRD = ("postgres", "template1")  # a database cannot be renamed from within

_ROW = """
    SELECT to_jsonb(d) || jsonb_build_object(
        'owner', pg_get_userbyid(datdba), 'may_own', pg_has_role(datdba, 'MEMBER'),
        'may_create', (SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user),
        'is_set', EXISTS (SELECT 1 FROM pg_db_role_setting WHERE setdatabase = d.oid))
    FROM pg_database d WHERE datname = current_database()
"""
# DROP DATABASE by itself would wait for those who are connected
_UNUSED = """
    SELECT datname FROM pg_database d WHERE starts_with(datname, %s)
    AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.datname = d.datname)
"""


def why_not_beside(values: Values) -> str:
    """Why a backup cannot be made ready beside the database and then take its place; empty where it can."""
    with connected(values) as admin:
        row = _row(admin)
    if not (row["may_create"] and row["may_own"]):
        return "its user does not own it, or lacks CREATEDB"
    # What a new database would not have
    if row["datacl"] or row["is_set"] or row.get("datlocprovider", "c") != "c":
        return "it has separate rights, settings or a different locale"
    try:
        _third(values).close()
    except BackupError as error:
        return str(error)
    return ""


@contextmanager
def beside(values: Values, purpose: str) -> Iterator[dict[str, Any]]:
    """Settings of an empty database on the same server; it is dropped at the end, unless it was put in another's place.

    A connection holds it, which tells it from those of processes that were killed.
    """
    with connected(values) as admin:
        admin.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        clear(admin, values["NAME"])
        made = {**values, "NAME": _name(values, purpose)}
        _create(admin, made["NAME"])
        holder = connected(made)
    try:
        yield made
    finally:
        holder.close()
        with suppress(psycopg.errors.InvalidCatalogName), connected(values) as admin:
            admin.execute(_drop(made["NAME"], force=True))


def clear(admin: "psycopg.Connection[Any]", name: str) -> None:
    """Drop what processes that were killed have left; what somebody is connected to stays."""
    asked = admin.execute(_UNUSED, [name[:40]])
    for (found,) in asked.fetchall():
        if OURS.fullmatch(found.removeprefix(name[:40])):
            with suppress(psycopg.errors.ObjectInUse, psycopg.errors.InsufficientPrivilege):
                admin.execute(_drop(found, force=False))


def take_place(values: Values, made: Values) -> None:
    """The database that was made ready is the one that `values` name; the earlier one goes after that."""
    refuse_used(values)
    old = _name(values, REPLACED)
    rename = "ALTER DATABASE {} RENAME TO {}"
    with _third(values) as third:
        third.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [made["NAME"]])  # fmt: skip
        try:
            with third.transaction():
                for one, other in ((values["NAME"], old), (made["NAME"], values["NAME"])):
                    third.execute(sql.SQL(rename).format(*map(sql.Identifier, (one, other))))
        except psycopg.errors.ObjectInUse as error:
            raise BackupError(
                f"The database {values['NAME']} has other connections. Stop the site and its workers first."
            ) from error
        with suppress(psycopg.Error):  # the next start clears it
            third.execute(_drop(old, force=True))


def _create(admin: "psycopg.Connection[Any]", name: str) -> None:
    row = _row(admin)
    create = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'"
    parts = [sql.SQL(create).format(sql.Identifier(name))]
    if row.get("datlocprovider", "c") == "c":
        of_locale = " LC_COLLATE {} LC_CTYPE {}"
        parts.append(sql.SQL(of_locale).format(row["datcollate"], row["datctype"]))
    if row["may_own"]:
        parts.append(sql.SQL(" OWNER {}").format(sql.Identifier(row["owner"])))
    try:
        admin.execute(sql.Composed(parts))
    except psycopg.errors.InsufficientPrivilege as error:
        raise BackupError(
            "The database's user may not create the database for --verify. Grant it CREATEDB, or restore into an empty "
            "database with --into."
        ) from error


def _row(admin: "psycopg.Connection[Any]") -> dict[str, Any]:
    found = admin.execute(_ROW).fetchone()
    assert found is not None
    return dict(found[0])


def _third(values: Values) -> "psycopg.Connection[Any]":
    for name in THIRD:
        if name != values["NAME"]:
            with suppress(psycopg.OperationalError):
                return connected({**values, "NAME": name})
    raise BackupError(f"its user cannot connect to {THIRD[0]} or {THIRD[1]}")


def _name(values: Values, purpose: str) -> str:
    """At most as long as PostgreSQL's names can be."""
    return f"{values['NAME'][:40]}_{purpose}_{os.getpid()}"


def _drop(name: str, *, force: bool) -> sql.Composed:
    drop = "DROP DATABASE {} WITH (FORCE)" if force else "DROP DATABASE {}"
    return sql.SQL(drop).format(sql.Identifier(name))
