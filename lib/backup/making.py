"""Makes a backup while the site runs: in a folder that is marked as partial until its manifest is on disk."""

import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.core.files.storage import storages
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import load_backend

from lib.backup import files, postgres, sqlite
from lib.backup.manifest import (
    PARTIAL,
    BackupError,
    DatabaseCopy,
    Facts,
    Manifest,
    StoredFile,
    read,
)
from lib.code import code_version
from lib.locks import snapshot
from lib.migrated import is_migrated

PREFIX = "brainbench-"
FILES, KEYS = "files", "keys"
DUMP_SHARE = (
    4  # a dump has no indexes and is compressed: a quarter of the database is more than enough
)
Announce = Callable[[str, int, int], object]  # what, done, total; 0 where nobody knows
Values = Mapping[str, Any]  # Django's settings of a database


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of a backup beside the database."""

    parts: Collection[str]  # names of storages
    key: str  # tells the site's keys from another site's
    keys: Mapping[str, str]  # the keys themselves, where they were asked for
    facts: Callable[[], Facts]


@dataclass(frozen=True, slots=True)
class Made:
    folder: Path
    manifest: Manifest
    pruned: list[str]


def make(output: Path, wanted: Wanted, keep: int | None, announce: Announce) -> Made:
    """A new backup below `output`; then the oldest beyond `keep` are deleted, once the new one was read again."""
    output.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(output):
        for left in output.glob(f"{PREFIX}*{PARTIAL}"):
            shutil.rmtree(left)  # of a process that was killed
        _refuse_small_disk(output, wanted)
        name = f"{PREFIX}{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        names = (name, *(f"{name}-{n}" for n in range(2, 1000)))
        folder = next(path for each in names if not (path := output / each).exists())
        partial = folder.with_name(folder.name + PARTIAL)
        try:
            partial.mkdir(mode=0o700)
            manifest = _fill(partial, wanted, announce)
            check(partial, manifest, announce)
            manifest.write(partial)
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        _sync(output)
        old = backups(output)[keep:] if keep else []
        for each in old:
            # Marked as partial before anything of it goes: half a backup never looks like one
            doomed = each.with_name(each.name + PARTIAL)
            each.rename(doomed)
            shutil.rmtree(doomed)
        return Made(folder, manifest, [each.name for each in old])


def backups(output: Path) -> list[Path]:
    """The whole ones below a folder, the newest first."""
    found = []
    for folder in sorted(output.glob(f"{PREFIX}*"), reverse=True):
        try:
            read(folder)
        except BackupError:
            continue
        found.append(folder)
    return found


def check(folder: Path, manifest: Manifest, announce: Announce) -> None:
    """BackupError where a file is not on disk as it was written, or the database in it cannot be read to its end."""
    for n, (name, stored) in enumerate(manifest.files.items()):
        announce("Reading again", n, len(manifest.files))
        files.check(folder, name, stored)
    database = manifest.database
    if database.engine == "sqlite":
        sqlite.check(folder / database.file)
    else:
        version = int(database.server.partition(".")[0])
        postgres.check(folder / database.file, version)


def _fill(folder: Path, wanted: Wanted, announce: Announce) -> Manifest:
    """The database first: files that it names are there by then, as are the tombstones of who is withdrawn in it."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    if connection.vendor == "sqlite":
        source, target = Path(connection.settings_dict["NAME"]), folder / sqlite.FILE
        sqlite.copy(source, target, lambda done, total: announce("Copying pages", done, total))
        with opened(sqlite_file(target)):
            database = _counted(sqlite.FILE, wanted)
    else:
        total = postgres.size()
        with snapshot():
            name, target = postgres.export_snapshot(), folder / postgres.FILE
            postgres.dump(name, target, lambda done: announce("Dumping", done, total))
            database = _counted(postgres.FILE, wanted)
    held = {database.file: files.read(folder / database.file)}
    for part in wanted.parts:
        held |= _copy_storage(folder, part, announce)
    for name, key in wanted.keys.items():
        held[f"{KEYS}/{name}"] = files.write(folder / KEYS / name, [key.encode()])
    return Manifest(made_at, code_version(), database, wanted.key, held)


def _counted(file: str, wanted: Wanted) -> DatabaseCopy:
    facts = wanted.facts() if is_migrated() else {}
    return DatabaseCopy(
        file=file,
        engine=connection.vendor,
        server=".".join(map(str, connection.get_database_version())),
        migrations=applied_migrations(),
        rows=table_rows(),
        facts=dict(facts),
    )


def _copy_storage(folder: Path, part: str, announce: Announce) -> dict[str, StoredFile]:
    done = 0

    def copied(name: str) -> None:
        nonlocal done
        done += 1
        announce(f"Copying {part}", done, 0)

    return files.copy_out(storages[part], folder, f"{FILES}/{part}", copied)


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """One backup at a time in a folder; the system gives the lock back when the process ends, however it does."""
    handle = os.open(output / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"Another backup is being made in {output}.") from error
        yield
    finally:
        os.close(handle)


def _refuse_small_disk(output: Path, wanted: Wanted) -> None:
    is_sqlite = connection.vendor == "sqlite"
    source = Path(connection.settings_dict["NAME"])
    needed = sqlite.size(source) if is_sqlite else postgres.size() // DUMP_SHARE
    needed += sum(files.stored_bytes(storages[part]) for part in wanted.parts)
    free = shutil.disk_usage(output).free
    if free < needed:
        raise BackupError(
            f"{output} has {free / 1e6:,.0f} MB free, but the backup may need {needed / 1e6:,.0f} MB. Free some space "
            "there, or name another folder with --output."
        )


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


ALIAS = "default"


@contextmanager
def opened(values: Values) -> Iterator[None]:
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
    return {"ENGINE": "lib.fast.sqlite3", "NAME": str(path), "OPTIONS": {}}


def table_rows() -> dict[str, int]:
    """Rows of each table."""
    found: dict[str, int] = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
            found[table] = cursor.fetchone()[0]
    return found


def applied_migrations() -> list[str]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def refuse_newer(migrations: list[str]) -> list[str]:
    """The migrations that a database of these still needs; BackupError where this release does not know one of them."""
    disk = MigrationLoader(None).disk_migrations
    ours = {f"{app}.{name}" for app, name in disk}
    replaced = {f"{app}.{name}" for each in disk.values() for app, name in each.replaces}
    if unknown := sorted(set(migrations) - ours - replaced):
        raise BackupError(
            f"The backup comes from a newer release with {unknown[0]}, which this release does not have. Restore it with "
            "the release that made it."
        )
    return sorted(ours - set(migrations))
