"""Folders of the server from which pages may name something: only what lies below, and nothing that leads out by its name."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path


def inside(root: Path, name: str) -> Path | None:
    """The path of this name below `root`, relative or whole; None where it would lead out. It may not be there.

    A link that somebody with access to the server has made there may lead elsewhere.

    >>> str(inside(Path("/srv/models"), "lab/tiny"))
    '/srv/models/lab/tiny'
    >>> inside(Path("/srv/models"), "../secret_key") is None
    True
    """
    if not name or "\x00" in name:
        return None
    path = Path(os.path.normpath(root / name))
    return path if path != root and path.is_relative_to(root) else None


def strays(root: Path, names: Iterable[str], of_files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names below `root` that have no place in a copy of somebody's files, and why.

    Links that lead out of it or nowhere, pipes, devices, and folders with the name of a file (`of_files`: its endings).
    `root` itself may be a link, which the server's administrator made.
    """
    top, endings = root.resolve(), tuple(of_files)
    paths = [root / name for name in names if os.path.lexists(root / name)]
    while paths:
        path = paths.pop()
        if why := _stray(path, top, endings):
            yield path.relative_to(root).as_posix(), why
        elif path.is_dir() and not path.is_symlink():
            paths += sorted(path.iterdir(), reverse=True)


def _stray(path: Path, top: Path, endings: tuple[str, ...]) -> str:
    try:
        mode = path.stat().st_mode
    except OSError:
        return "is a broken link" if path.is_symlink() else "cannot be read"
    if path.is_symlink() and not path.resolve().is_relative_to(top):
        return "is a link out of this folder"
    if stat.S_ISDIR(mode):
        return "is a folder, not a file" if path.name.endswith(endings) else ""
    return "" if stat.S_ISREG(mode) else "is not a regular file"
