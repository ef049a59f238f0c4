"""Files in Django's storages that appear whole or not at all: a folder here, an S3-compatible service elsewhere."""

import errno
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage

from lib.files import atomic_file, staged_file

HEALTH = (
    "health"  # a folder for what is written to see whether anything can be: nothing of the site's
)


# What stands in for the folder, or keeps out of it, or is another machine that does not answer
GONE = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.ENOTCONN, errno.ESTALE),
        *(errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ETIMEDOUT),
    }
)


class StorageGoneError(OSError):
    """The folder of a storage cannot be used now; with the system's number. Elsewhere the same number is a mistake of the code."""


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in GONE:
            raise StorageGoneError(error.errno, error.strerror, error.filename) from error
        raise


class AtomicFileStorage(FileSystemStorage):
    """A folder whose files are replaced in one step and survive a power cut."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_overwrite=True, **options)

    def _save(self, name: str, content: Any) -> str:
        path = Path(self.path(name))
        with _reaching():
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as file:
                for chunk in content.chunks():
                    file.write(chunk)
        return name

    def open(self, name: str, mode: str = "rb") -> File[Any]:
        with _reaching():
            return super().open(name, mode)

    def delete(self, name: str) -> None:
        with _reaching():
            super().delete(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        with _reaching():
            return super().listdir(path)


@contextmanager
def staged(storage: Storage, name: str, content: bytes) -> Iterator[Callable[[], object]]:
    """Prepare a file, and give a function that puts it in its place, in place of any earlier one.

    In a folder that takes a moment, since the content is on disk by then; a service gets the content by it. Where
    the function is not called, nothing remains.
    """
    if isinstance(storage, AtomicFileStorage):
        path = Path(storage.path(name))
        with ExitStack() as stack:
            with _reaching():
                path.parent.mkdir(parents=True, exist_ok=True)
                publish = stack.enter_context(staged_file(path, content))
            yield _reaching()(publish)
    else:
        yield lambda: storage.save(name, ContentFile(content))


def file_names(storage: Storage, folder: str) -> list[str]:
    """Names of the files in a folder, sorted; none where there is no such folder."""
    try:
        return sorted(storage.listdir(folder)[1])
    except FileNotFoundError:
        return []


def folder_names(storage: Storage, folder: str) -> list[str]:
    """Names of the folders in a folder, sorted; none where there is no such folder."""
    try:
        return sorted(storage.listdir(folder)[0])
    except FileNotFoundError:
        return []


def delete_folder(storage: Storage, folder: str) -> None:
    """Remove a folder without folders in it, and its files; nothing happens where there is none."""
    for name in file_names(storage, folder):
        storage.delete(f"{folder}/{name}")
    if isinstance(storage, FileSystemStorage):
        storage.delete(folder)
