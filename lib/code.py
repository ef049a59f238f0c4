"""A name for code: what is stored under it is made again once the code changes."""

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".py", ".html"}


@cache
def code_digest(*folders: str) -> str:
    """A digest of the Python files and templates in folders of this project.

    >>> code_digest("lib") == code_digest("lib", "config")
    False
    """
    digest = hashlib.sha256()
    for path in sorted({path for folder in folders for path in (ROOT / folder).rglob("*")}):
        if path.suffix in SUFFIXES:
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
