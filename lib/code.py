"""The version of this project, and a name for code: what is stored under it is made again once the code changes."""

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
def release(root: Path = ROOT) -> str:
    """The version of this project, by the rules of docs/promises.md. Its one place is pyproject.toml: nothing need be installed.

    >>> len(release().split("."))
    3
    """
    about = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(about["project"]["version"])


@cache
def revision() -> str:
    """The commit, where this runs from a repository, with "+" where other files than docs/ differ from it; else ""."""
    if not (ROOT / ".git").exists():
        return ""
    about_commit = _git("describe", "--always", "--abbrev=12", "--exclude=*")
    if about_commit is None or about_commit.returncode != 0:
        return ""
    same = _git("diff", "--quiet", "HEAD", "--", ":/", ":(exclude,top)docs")
    differs = "" if same is not None and same.returncode == 0 else "+"
    return f"{about_commit.stdout.strip()}{differs}"


def code_version() -> str:
    """The version and, where it is known, the commit.

    >>> code_version().split()[0] == release()
    True
    """
    return f"{release(ROOT)} {revision()}".strip()


def _git(*asked: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *asked], capture_output=True, text=True, timeout=10
        )
    except OSError:  # no git
        return None
