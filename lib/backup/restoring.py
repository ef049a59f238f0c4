"""Brings a backup back: into a scratch database to see that it holds, or in the place of a site's."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from django.core.files.storage import storages
from django.core.management import call_command

from lib.backup import beside, counting, files, postgres, sqlite
from lib.backup.making import FILES
from lib.backup.manifest import BackupError, Facts, Manifest
from lib.backup.opened import opened, sqlite_file
from lib.backup.temporary import temporary_folder

T = TypeVar("T")
Announce = Callable[[str], object]
Values = Mapping[str, Any]  # Django's settings of a database
Target = Callable[[Path, Manifest, Values], AbstractContextManager[Values]]
LATE = "token_records"  # rows name them


@dataclass(frozen=True, slots=True)
class Finding:
    """What a backup says of itself beside what is there."""

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
    folder: Path, manifest: Manifest, values: Values, facts: Callable[[], Facts], must: Facts
) -> list[Finding]:
    """Compare a copy that is restored beside the site with what was counted when the backup was made."""
    _refuse_other_engine(manifest, values)
    needed = counting.refuse_newer(manifest.database.migrations)
    with _scratch(folder, manifest, values) as scratch, opened(scratch):
        found = compare_rows(manifest)
        if all(each.holds for each in found):
            if needed:
                call_command("migrate", verbosity=0)
            found += compare_facts({**manifest.database.facts, **must}, facts())
        return found


@contextmanager
def _scratch(folder: Path, manifest: Manifest, values: Values) -> Iterator[Values]:
    source = folder / manifest.database.file
    if manifest.database.engine == "sqlite":
        with temporary_folder(folder.parent, "verify-") as place:
            copy = place / sqlite.FILE
            sqlite.copy_file(source, copy)
            sqlite.check(copy)
            yield sqlite_file(copy)
    else:
        with beside.beside(values, beside.VERIFY) as scratch:
            postgres.restore(source, scratch, postgres.server_version(), {})
            yield scratch


def compare_rows(manifest: Manifest) -> list[Finding]:
    """Tables by name; most sites' are few enough to name each."""
    rows, said = counting.table_rows(), manifest.database.rows
    found = [
        Finding(f"rows of {table}", str(said.get(table, "none")), str(rows.get(table, "none")))
        for table in sorted(said.keys() | rows.keys())
    ]
    wrong = [each for each in found if not each.holds]
    total = Finding("rows of all tables", str(sum(said.values())), str(sum(rows.values())))
    migrations = counting.applied_migrations()
    before = manifest.database.migrations
    lists = Finding("migrations", str(len(before)), str(len(migrations)))
    return [*(wrong or [total]), lists]


def compare_facts(said: Facts, facts: Facts) -> list[Finding]:
    """What an older release did not know of its rows is not compared."""
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
    _refuse_other_engine(manifest, values)
    needed = counting.refuse_newer(manifest.database.migrations)
    is_sqlite = vendor(values) == "sqlite"
    path = Path(values["NAME"])
    if tables := sqlite.tables(path) if is_sqlite else postgres.table_count(values):
        if not replace:
            raise BackupError(
                f"The database {values['NAME']} has {tables} tables: --replace puts the backup in their place, "
                "and what they hold is gone."
            )
        sqlite.refuse_used(path) if is_sqlite else postgres.refuse_used(values)
    # Who withdrew is gone before anybody sees the database; records belong to the rows that name them
    n = copy_files_in(folder, manifest, announce, is_late=False) if with_files else 0
    announce("Restoring the database")
    target: Target = _into_sqlite if is_sqlite else _into_postgres(values, announce)
    with target(folder, manifest, values) as restored, opened(restored):
        if wrong := [each for each in compare_rows(manifest) if not each.holds]:
            raise BackupError(difference(wrong[0]))
        announce("Migrating")
        call_command("migrate", verbosity=0)
        done = again()
    n += copy_files_in(folder, manifest, announce, is_late=True) if with_files else 0
    return Restored(needed, n, done)


@contextmanager
def _into_sqlite(folder: Path, manifest: Manifest, values: Values) -> Iterator[Values]:
    """Made ready beside its place, which it takes at the end of the block."""
    source = folder / manifest.database.file
    path = Path(values["NAME"])
    staged = path.with_name(f"{path.name}.restoring")
    staged.unlink(missing_ok=True)
    try:
        sqlite.copy_file(source, staged)
        sqlite.check(staged)
        yield sqlite_file(staged)
        sqlite.refuse_used(path)
        sqlite.replace(path, staged)
    finally:
        staged.unlink(missing_ok=True)


def _into_postgres(values: Values, announce: Announce) -> Target:
    if not (why := beside.why_not_beside(values)):
        return _beside_postgres
    announce(
        f"The database {values['NAME']} is restored in its place, since {why}. "
        "If migrating or withdrawing again fails, it holds the backup as it was made"
    )
    return _within_postgres


@contextmanager
def _beside_postgres(folder: Path, manifest: Manifest, values: Values) -> Iterator[Values]:
    """Made ready beside its place, which it takes at the end of the block."""
    with beside.beside(values, beside.RESTORING) as made:
        with _within_postgres(folder, manifest, made):
            yield made
        beside.take_place(values, made)


@contextmanager
def _within_postgres(folder: Path, manifest: Manifest, values: Values) -> Iterator[Values]:
    with opened(values):
        server = postgres.server_version()
    database = manifest.database
    postgres.restore(folder / database.file, values, server, database.rows)
    yield values
    postgres.analyze(values)


def copy_files_in(folder: Path, manifest: Manifest, announce: Announce, *, is_late: bool) -> int:
    """Tombstones that are there stay, whatever the backup says; other files are as they were.

    Results come early: withdrawing again deletes those of who withdrew.
    """
    n = 0
    for name in manifest.files:
        top, _, rest = name.partition("/")
        if top == FILES:
            part, _, inner = rest.partition("/")
            if (part == LATE) != is_late:
                continue
            announce(f"Putting files back: {part}")
            n += files.copy_in(storages[part], inner, folder / name, over=part != "withdrawals")
    return n


def difference(finding: Finding) -> str:
    return f"{finding.what}: {finding.found}, where {finding.said} is expected."


def _refuse_other_engine(manifest: Manifest, values: Values) -> None:
    if manifest.database.engine != vendor(values):
        raise BackupError(
            f"The backup is of {manifest.database.engine}, and the database is {vendor(values)}: "
            "a backup is restored by the same kind of database."
        )
