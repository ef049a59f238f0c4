"""Files of the site that other users of the machine can reach: found, and closed.

Settings set the umask of every process, so new files are private; this is for files of earlier releases and of other hands.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

OTHERS = 0o077  # read, write and enter, by the group and by everybody
ENTER = 0o011


def close_files(**told: Any) -> None:
    """After `migrate`, which is a part of every upgrade; a test that empties its tables has no plan, and walks nowhere."""
    if "plan" in told:
        close(settings.VAR_DIR)


def close(root: Path) -> None:
    """Take from others what they may do with our files and folders below `root`.

    Links are not followed, and mounted file systems are not entered. What belongs to somebody else stays as it is. So do the
    static files, which everybody may read, and sockets.
    """
    device = root.stat().st_dev
    for path, found in _walk(root, enters=lambda found: found.st_dev == device):
        is_kept = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
        is_ours = found.st_uid == os.geteuid() and found.st_dev == device
        if is_kept and is_ours and found.st_mode & OTHERS:
            with suppress(OSError):
                path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)


def open_paths(root: Path) -> Iterator[Path]:
    """`root` and what is below it, as far as others can reach it: nothing in a folder that is closed."""
    for path, found in _walk(root, enters=lambda found: bool(found.st_mode & ENTER)):
        if found.st_mode & OTHERS:
            yield path


def _walk(root: Path, enters: Any) -> Iterator[tuple[Path, os.stat_result]]:
    """No links, and no static files; what vanishes meanwhile, or cannot be read, is left out."""
    paths = [root]
    while paths:
        path = paths.pop()
        with suppress(OSError):
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode) or path == settings.STATIC_ROOT:
                continue
            yield path, found
            if stat.S_ISDIR(found.st_mode) and enters(found):
                paths += sorted(path.iterdir(), reverse=True)
