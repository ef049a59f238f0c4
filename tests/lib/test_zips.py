"""A ZIP that somebody sends is unpacked below its folder, or refused whole."""

import io
import stat
import zipfile
from collections.abc import Mapping
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


def test_one_with_a_password_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"a": b"x"}).getvalue())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(ZipRefusedError, match="password"):
        unpack(io.BytesIO(bytes(data)), tmp_path, **LIMITS)
