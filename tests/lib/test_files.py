"""Files appear whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from lib.files import BLOCK, atomic_file, not_utf8, staged_file, write_file


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_takes_the_place_of_an_earlier_one_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_file(path, "before\r\nµ")
    assert path.read_bytes() == b"before\r\n\xc2\xb5"
    with atomic_file(path) as file:
        file.write(b"after")
        assert path.read_bytes().startswith(b"before")
    assert path.read_bytes() == b"after"
    assert names(tmp_path) == ["a.csv"]


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_file(path, b"before")
    with pytest.raises(TypeError), atomic_file(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    with staged_file(path, b"never published"):
        pass
    assert (path.read_bytes(), names(tmp_path)) == (b"before", ["a.csv"])


def test_modes_are_those_of_any_new_file_or_of_the_one_that_is_replaced(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "a.csv"
    plain.write_text("")
    write_file(path, "")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    write_file(path, "again", durable=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_writing_replaces_the_target_of_a_link_and_not_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "a.csv")
    write_file(link, "text")
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.csv").read_text() == "text"


@pytest.mark.parametrize("before", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
def test_a_byte_that_is_no_utf8_is_named_with_its_line(tmp_path: Path, before: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * before + "\nµ\n".encode() + b"caf\xe9\n")
    assert not_utf8(path).startswith("it is not UTF-8 text: byte 0xe9 in line 3;")
    path.write_bytes(b"x" * before + b"\n\xc2")
    assert "byte 0xc2 in line 2" in not_utf8(path), "a character that the end cuts off"
    path.write_bytes(b"x" * before + "µ".encode())
    assert not_utf8(path) == ""
