"""An SQLite database: copied by the online backup API while others write, and put back as one file."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from lib import disk
from lib.backup.files import private_file
from lib.backup.manifest import BackupError

FILE = "database.sqlite3"
PAGES_AT_ONCE = 4096
OWN = "sqlite_"  # how names of its own tables begin: statistics, keys
Announce = Callable[[int, int], object]


def copy(source: Path, target: Path, announce: Announce) -> None:
    """The database as it is at one moment.

    The source is read within one transaction, so that writers neither wait for the copy nor make it begin again: in WAL
    mode, which the site sets, their pages go to the log meanwhile.
    """
    with private_file(target):
        pass
    try:
        with closing(sqlite3.connect(source, isolation_level=None)) as live:
            live.execute("BEGIN")
            live.execute("SELECT count(*) FROM sqlite_master").fetchone()
            with closing(sqlite3.connect(target)) as made:
                live.backup(
                    made,
                    pages=PAGES_AT_ONCE,
                    progress=lambda _, left, total: announce(total - left, total),
                )
                made.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    except sqlite3.OperationalError as error:
        advice = disk.DATABASE_ADVICE.get(error.sqlite_errorcode & 0xFF, disk.CHECK)
        raise BackupError(f"{target} cannot be used: {error} ({advice}).") from error


def size(source: Path) -> int:
    """Bytes of the file and its log."""
    return sum(path.stat().st_size for path in (source, _beside(source, "-wal")) if path.exists())


def check(path: Path) -> None:
    """BackupError where pages, indexes, constraints or foreign keys do not hold."""
    with closing(sqlite3.connect(path)) as made:
        try:
            found = made.execute("PRAGMA integrity_check(1)").fetchone()[0]
            broken = made.execute("PRAGMA foreign_key_check").fetchone()
        except sqlite3.DatabaseError as error:
            raise BackupError(f"{path} is not an intact database: {error}.") from error
    if found != "ok":
        raise BackupError(f"{path} is not an intact database: {' '.join(found.split())}.")
    if broken:
        raise BackupError(f"{path}: a row of {broken[0]} refers to a missing row of {broken[2]}.")


def copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as file, private_file(target) as made:
        shutil.copyfileobj(file, made, 1 << 20)


def tables(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as database:
        counted = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'")
        return int(counted.fetchone()[0])


def refuse_used(path: Path) -> None:
    """BackupError while another process has the database open; else its log is emptied into it, and removed."""
    if not path.exists():
        return
    with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as database:
        try:
            database.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError as error:
            raise BackupError(f"{path} is in use. Stop the site and its workers first.") from error


def replace(path: Path, made: Path) -> None:
    """Put a database in the place of another that nobody has open."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    for log in ("-wal", "-shm", "-journal"):
        _beside(path, log).unlink(missing_ok=True)
    made.chmod(mode)
    made.replace(path)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
