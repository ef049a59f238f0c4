"""Folders that appear whole or not at all, on disk before they have their name."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

_SYSTEM_ERROR = re.compile(r"os error (\d+)")


def part_of(folder: Path) -> Path:
    """Where the files of a folder lie until it is whole."""
    return folder.with_name(f".{folder.name}.part")


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes its place when the block ends without an error; what stood there goes.

    Raises:
        OSError: the disk does not take it; nothing of it remains.
    """
    part = part_of(folder)
    remove(part)
    try:
        part.mkdir(parents=True)
        with system_errors(folder):
            yield part
        put_in_place(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def put_in_place(part: Path, folder: Path) -> None:
    """Bring a filled folder to disk, then to its name."""
    for path in sorted(part.rglob("*")):
        _sync(path)
    _sync(part)
    remove(folder)
    part.rename(folder)
    _sync(folder.parent)


def remove(folder: Path) -> None:
    """Take a folder away in one step: a part of it is never taken for the whole."""
    if folder.exists():
        gone = folder.with_name(f".{folder.name.lstrip('.')}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone)


@contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """What safetensors says of a full disk, as Python says it."""
    try:
        yield
    except SafetensorError as error:
        found = _SYSTEM_ERROR.search(str(error))
        if found is None:
            raise
        number = int(found[1]) or errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
