"""A ZIP that somebody sends is unpacked below its folder, or refused whole."""

import errno
import io
import stat
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lib.zips import ZipRefusedError, unpack

LIMITS = {"most_bytes": 1000, "most_files": 3}


def zipped(files: Mapping[str, bytes], mode: int = 0) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    file.seek(0)
    return file


def test_files_are_written_in_their_folders_and_hidden_ones_left_out(tmp_path: Path) -> None:
    sent = {"top/a.csv": b"1", "top/in/b.csv": b"22", "top/.DS_Store": b"x"}
    unpack(zipped(sent), tmp_path, **LIMITS)
    found = {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*.*")}
    assert found == {"top/a.csv": b"1", "top/in/b.csv": b"22"}


@pytest.mark.parametrize(
    "name", ["../out", "/etc/out", "a/../../out", "..\\out", "C:/out", "a\nb", "."]
)
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(ZipRefusedError, match="not allowed"):
        unpack(zipped({"a": b"", name: b"x"}), folder, **LIMITS)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_links_bombs_many_files_and_what_is_no_zip_are_refused(tmp_path: Path) -> None:
    refused = {
        "is a link": zipped({"a": b"/etc/passwd"}, stat.S_IFLNK | 0o777),
        "more than 3 files": zipped({str(n): b"" for n in range(4)}),
        "MB": zipped({"a": b"\0" * 600, "b": b"\0" * 600}),
        "not a ZIP": io.BytesIO(b"PK\x03\x04 and no more"),
    }
    for why, file in refused.items():
        with pytest.raises(ZipRefusedError, match=why):
            unpack(file, tmp_path, **LIMITS)


def test_one_whose_content_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    file = zipped({"a": b"some text, long enough to be packed " * 9})
    data = bytearray(file.getvalue())
    data[40] ^= 0xFF
    with pytest.raises(ZipRefusedError, match="damaged"):
        unpack(io.BytesIO(bytes(data)), tmp_path, **LIMITS)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["a/b", "a//b"], "“a/b” twice"),
        (["a", "a"], "“a” twice"),
        (["a", "a/b"], "“a” in the ZIP is both a file and a folder"),
        (["a/b/c", "a/b"], "“a/b” in the ZIP is both a file and a folder"),
        (["é" * 128], "too long"),
        (["/".join(["a" * 250] * 4)], "too long"),
        (["a/b/c/d"], "more than 2 folders"),
    ],
)
def test_names_that_no_folder_can_hold_are_refused_before_anything_is_written(
    tmp_path: Path, names: Sequence[str], why: str
) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a name is there twice
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"x")
    with pytest.raises(ZipRefusedError, match=why):
        unpack(file, tmp_path, most_bytes=1000, most_files=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_a_damaged_archive_of_each_packing_is_refused(tmp_path: Path, packing: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        archive.writestr("a", b"some text, long enough to be packed " * 9)
    for at in range(44, 64):  # behind the headers
        data = bytearray(file.getvalue())
        data[at] ^= 0xFF
        with pytest.raises(ZipRefusedError, match="damaged"):
            unpack(io.BytesIO(bytes(data)), tmp_path, most_bytes=10**6, most_files=3)
        (tmp_path / "a").unlink(missing_ok=True)


def test_a_name_that_is_said_to_be_utf_8_and_is_not_is_refused(tmp_path: Path) -> None:
    data = zipped({"é": b"x"}).getvalue().replace("é".encode(), b"\xe9\xe9")
    with pytest.raises(ZipRefusedError, match="damaged"):
        unpack(io.BytesIO(data), tmp_path, **LIMITS)


def test_a_full_disk_is_no_fault_of_the_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="No space"):
        unpack(zipped({"a/b": b"x"}), tmp_path, **LIMITS)


def test_one_with_a_password_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"a": b"x"}).getvalue())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(ZipRefusedError, match="password"):
        unpack(io.BytesIO(bytes(data)), tmp_path, **LIMITS)
