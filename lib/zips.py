"""ZIP files that somebody sends: unpacked below a folder, within limits, or refused whole."""

import errno
import io
import stat
import struct
from collections.abc import Iterable
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from lib.confined import confined
from lib.names import printed

BLOCK = 1 << 20  # bytes
IGNORED = "__MACOSX"  # what one system adds for itself
LONGEST_PART, LONGEST_PATH = 255, 1000  # bytes, which every file system takes below a folder
DAMAGED = (
    *(BadZipFile, LargeZipFile, NotImplementedError, EOFError, ZlibError, LZMAError),
    *(struct.error, ValueError, OverflowError),  # its numbers, and names that are not UTF-8
)
NO_SUCH_DATA = (
    None,
    errno.EINVAL,
)  # of an OSError: from bzip2, and of a place before the beginning


class ZipRefusedError(Exception):
    """It is not unpacked; the message is a sentence that says why."""


def unpack(file: IO[bytes], folder: Path, *, most_bytes: int, most_files: int) -> None:
    """Write the files of a ZIP below `folder`, which exists and is empty. Hidden files are left out.

    Sizes are counted as they are unpacked: what a ZIP says of itself is a claim.

    Raises:
        ZipRefusedError: it is not a ZIP file or is damaged, a name in it leads out of the folder, is too long or there twice, or
            a limit is passed.
        OSError: the disk does not take the files.
    """
    try:
        with ZipFile(file) as archive:
            members = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(members) > most_files:
                raise ZipRefusedError(f"The ZIP contains more than {most_files} files.")
            paths = [(entry, path) for entry in members if (path := _name(entry)) is not None]
            _check_together([path for _, path in paths], most_files)
            left = most_bytes
            for entry, path in paths:
                left -= _write(archive, entry, folder / path, left, most_bytes)
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno not in NO_SUCH_DATA:
            raise
        raise ZipRefusedError("The file is not a ZIP file, or it is damaged.") from error


def unpack_sent(data: bytes, folder: Path, *, most_bytes: int, most_files: int) -> None:
    """As `unpack`, in a process of its own.

    Raises:
        ZipRefusedError, OSError: as there.
        ConfinedError: it takes too much.
    """
    confined(
        _unpack_data, data, folder, most_bytes, most_files, refusals=[ZipRefusedError, OSError]
    )


def _unpack_data(data: bytes, folder: Path, most_bytes: int, most_files: int) -> None:
    unpack(io.BytesIO(data), folder, most_bytes=most_bytes, most_files=most_files)


def _check_together(paths: Iterable[PurePosixPath], most_folders: int) -> None:
    """Refuse two files of one name, a file that is a folder too, and more folders than may be made."""
    files, folders = set[PurePosixPath](), set[PurePosixPath]()
    for path in paths:
        if path in files:
            raise ZipRefusedError(f"The ZIP contains “{_shown(path)}” twice.")
        files.add(path)
        folders.update(path.parents)
        if len(folders) > most_folders + 1:  # the one that is there
            raise ZipRefusedError(f"The ZIP contains more than {most_folders} folders.")
    if both := files & folders:
        raise ZipRefusedError(f"“{_shown(min(both))}” in the ZIP is both a file and a folder.")


def _shown(name: object) -> str:
    return printed(str(name)[:80])


def _name(entry: ZipInfo) -> PurePosixPath | None:
    """Where the file goes; None where it is left out."""
    name, mode = entry.filename, entry.external_attr >> 16
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if leads_out or not path.parts or not name.isprintable():
        raise ZipRefusedError(
            f"The ZIP contains a file name that is not allowed: “{_shown(name)}”."
        )
    if entry.flag_bits & 1:
        raise ZipRefusedError("The ZIP is protected with a password.")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise ZipRefusedError(f"“{_shown(name)}” in the ZIP is a link or a device, not a file.")
    longest = max(len(part.encode()) for part in path.parts)
    if longest > LONGEST_PART or len(bytes(path)) > LONGEST_PATH:
        raise ZipRefusedError(f"A file name in the ZIP is too long: “{_shown(name)}”.")
    is_hidden = path.parts[0] == IGNORED or any(part.startswith(".") for part in path.parts)
    return None if is_hidden else path


def _write(archive: ZipFile, entry: ZipInfo, path: Path, left: int, most_bytes: int) -> int:
    """How many bytes it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    n = 0
    with archive.open(entry) as packed, path.open("xb") as written:
        while block := packed.read(BLOCK):
            n += len(block)
            if n > left:
                megabytes = most_bytes // 2**20
                raise ZipRefusedError(f"The ZIP contains more than {megabytes} MB when unpacked.")
            written.write(block)
    return n
