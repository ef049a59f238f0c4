"""A name for code: what is stored under it is made again once the code changes."""

import hashlib
import subprocess
import tomllib
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


@cache
def code_version() -> str:
    """The project's version and, where it runs from a repository, the commit, "+" where other files than docs/ differ from it.

    >>> code_version().split()[0]
    '0.1.0'
    """
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    version = str(about["project"]["version"])
    if not (ROOT / ".git").exists():
        return version
    about_commit = _git("describe", "--always", "--abbrev=12", "--exclude=*")
    if about_commit is None or about_commit.returncode != 0:
        return version
    same = _git("diff", "--quiet", "HEAD", "--", ":/", ":(exclude,top)docs")
    differs = "" if same is not None and same.returncode == 0 else "+"
    return f"{version} {about_commit.stdout.strip()}{differs}"


def _git(*asked: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *asked], capture_output=True, text=True, timeout=10
        )
    except OSError:  # no git
        return None
