"""A full disk, and a file that may not be written: which file, why, and what to do, in one sentence."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import DatabaseError

from lib import disk
from lib.files import staged_file, write_file


@contextmanager
def full(most_bytes: int) -> Iterator[None]:
    """No file of this process can be longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_does_not_fit_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "records"
    with (
        full(100),
        pytest.raises(OSError, match="too large") as raised,
        staged_file(path, b"x" * 1000),
    ):
        pass
    assert disk.sentence(raised.value) == (
        f"{path} cannot be used: file too large (raise the limit on the size of a file (ulimit -f))"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_obstacle_in_a_files_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as raised:
        write_file(tmp_path / "file" / "in it", "text")
    assert disk.sentence(raised.value) == (
        f"{tmp_path}/file/in it cannot be used: not a directory (move away the file in its place)"
    )


def test_a_database_on_a_full_disk_is_told_from_one_that_is_asked_wrongly(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db", isolation_level=None) as connection:
        connection.execute("CREATE TABLE t (a)")
        with full((tmp_path / "db").stat().st_size), pytest.raises(sqlite3.Error) as raised:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
        with pytest.raises(sqlite3.Error) as wrong:
            connection.execute("SELECT b FROM t")
    connection.close()
    assert "cannot be used: " in disk.sentence(_as_django(raised.value))
    assert disk.sentence(_as_django(wrong.value)) == ""


def _as_django(error: sqlite3.Error) -> DatabaseError:
    wrapped = DatabaseError(*error.args)
    wrapped.__cause__ = error
    return wrapped
