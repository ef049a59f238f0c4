"""Where a file belongs, nothing else is waited for or read."""

import os
import socket
from pathlib import Path

import pytest

from lib.files import read_regular


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


KINDS = {
    "a pipe that nobody writes to": pipe,
    "a socket": listening,
    "a folder": Path.mkdir,
    "a device without end": lambda path: path.symlink_to("/dev/zero"),
    "a broken link": lambda path: path.symlink_to("nowhere"),
    "more than is taken": lambda path: path.write_bytes(b"x" * 11),
    "nothing": lambda path: None,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_that_is_not_a_file_of_that_size_is_refused_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    path = Path("x")
    KINDS[kind](path)
    with pytest.raises(OSError, match="x") as raised:
        read_regular(path, 10)
    assert raised.value.strerror
    assert str(raised.value.filename) == "x"


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "x", 10) == b"0123456789"
