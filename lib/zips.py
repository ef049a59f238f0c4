"""ZIP files that somebody sends: unpacked below a folder, within limits, or refused whole."""

import stat
from pathlib import Path, PurePosixPath
from typing import IO
from zipfile import BadZipFile, LargeZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from lib.names import printed

BLOCK = 1 << 20  # bytes
IGNORED = "__MACOSX"  # what one system adds for itself


class ZipRefusedError(Exception):
    """It is not unpacked; the message is a sentence that says why."""


def unpack(file: IO[bytes], folder: Path, *, most_bytes: int, most_files: int) -> None:
    """Write the files of a ZIP below `folder`, which exists and is empty. Hidden files are left out.

    Sizes are counted as they are unpacked: what a ZIP says of itself is a claim.

    Raises:
        ZipRefusedError: it is not a ZIP file or is damaged, a name in it leads out of the folder, or a limit is passed.
    """
    try:
        with ZipFile(file) as archive:
            members = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(members) > most_files:
                raise ZipRefusedError(f"The ZIP contains more than {most_files} files.")
            left = most_bytes
            for entry in members:
                name = _name(entry)
                if name is not None:
                    left -= _write(archive, entry, folder / name, left, most_bytes)
    except (BadZipFile, LargeZipFile, ZlibError, EOFError, NotImplementedError) as error:
        raise ZipRefusedError("The file is not a ZIP file, or it is damaged.") from error


def _name(entry: ZipInfo) -> PurePosixPath | None:
    """Where the file goes; None where it is left out."""
    name, mode = entry.filename, entry.external_attr >> 16
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if leads_out or not path.parts or not name.isprintable():
        raise ZipRefusedError(
            f"The ZIP contains a file name that is not allowed: “{printed(name[:80])}”."
        )
    if entry.flag_bits & 1:
        raise ZipRefusedError("The ZIP is protected with a password.")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise ZipRefusedError(
            f"“{printed(name[:80])}” in the ZIP is a link or a device, not a file."
        )
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
