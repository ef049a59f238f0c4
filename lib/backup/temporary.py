"""A folder for a while, which the next process removes where this one was killed."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Locked as long as this process lives: of another's, the lock tells whether anybody uses it."""
    with _locked(parent, fcntl.LOCK_EX):  # nobody takes a new one for a left one
        for left in parent.glob(f"{prefix}*"):
            _remove_left(left)
        place = Path(mkdtemp(prefix=prefix, dir=parent))
        held = os.open(place, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield place
    finally:
        shutil.rmtree(place)
        os.close(held)


def _remove_left(folder: Path) -> None:
    try:
        with _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(folder)
    except BlockingIOError:
        return


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)
