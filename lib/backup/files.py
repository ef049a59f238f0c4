"""Files of a backup: readable by their owner alone, hashed as they are written; and the site's storages."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage

from lib.backup.manifest import BackupError, StoredFile
from lib.storage import HEALTH, file_names, folder_names

CHUNK = 1 << 20


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """A new file, on disk at the end of the block; an error names it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def write(path: Path, content: Iterable[bytes]) -> StoredFile:
    digest, size = hashlib.sha256(), 0
    with private_file(path) as file:
        for chunk in content:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return StoredFile(size, digest.hexdigest())


def read(path: Path) -> StoredFile:
    """The file as it is on disk now."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        for chunk in chunks(file):
            digest.update(chunk)
            size += len(chunk)
    return StoredFile(size, digest.hexdigest())


def check(folder: Path, name: str, expected: StoredFile) -> None:
    """BackupError where a file is not what was written."""
    path = folder / name
    if not path.is_file():
        raise BackupError(f"{path} is missing.")
    found = read(path)
    if found.size != expected.size:
        raise BackupError(f"{path} has {found.size:,} bytes, but {expected.size:,} are expected.")
    if found != expected:
        raise BackupError(f"{path} has changed since it was written: its SHA-256 differs.")


def stored_names(storage: Storage, folder: str = "") -> Iterator[str]:
    """All files of a storage; drafts of processes that were killed, and checks, are none."""
    for name in file_names(storage, folder):
        if name and not name.startswith("."):
            yield f"{folder}/{name}".lstrip("/")
    for name in folder_names(storage, folder):
        if folder or name != HEALTH:
            yield from stored_names(storage, f"{folder}/{name}".lstrip("/"))


def stored_bytes(storage: Storage) -> int:
    """How much a folder holds; 0 for a service, which would be asked for each file."""
    if not isinstance(storage, FileSystemStorage):
        return 0
    return sum(storage.size(name) for name in stored_names(storage))


def copy_out(
    storage: Storage, to: Path, prefix: str, copied: Callable[[str], object]
) -> dict[str, StoredFile]:
    """Every file of the storage below `to / prefix`, by its name in the backup."""
    found: dict[str, StoredFile] = {}
    for name in stored_names(storage):
        inner = f"{prefix}/{name}"
        try:
            with storage.open(name) as file:
                found[inner] = write(to / inner, file.chunks(CHUNK))
        except FileNotFoundError:  # its run was removed meanwhile
            (to / inner).unlink(missing_ok=True)
        copied(inner)
    return found


def copy_in(storage: Storage, name: str, path: Path, *, over: bool) -> bool:
    """Put a file back; whether it was not there, or another."""
    if storage.exists(name):
        if not over or (storage.size(name) == path.stat().st_size and _same(storage, name, path)):
            return False
        if not isinstance(storage, FileSystemStorage):
            storage.delete(name)
    with path.open("rb") as file:
        storage.save(name, File(file))
    return True


def _same(storage: Storage, name: str, path: Path) -> bool:
    digest = hashlib.sha256()
    with storage.open(name) as file:
        for chunk in file.chunks(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == read(path).sha256
