"""Folders of the server from which pages may name something: only what lies below, and nothing that leads out by its name."""

import os
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
