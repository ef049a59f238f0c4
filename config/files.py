"""Folders and secrets that settings need on the disk; and the error of a setting that cannot be used."""

import errno
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

PRIVATE_UMASK = 0o077  # of every command and server: new files are their owner's alone
_SECRET_LENGTH, _SECRET_CHARACTERS = 50, 5  # as Django's deployment check asks


class EnvError(ValueError):
    """An environment variable holds something its setting cannot use."""

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"{name}={value!r} cannot be used: expected {expected}.")


def make_folder(name: str, path: Path) -> None:
    """Make a folder that the setting `name` says, if it is not there."""
    try:
        if path.is_symlink() and not path.exists():
            raise FileNotFoundError(errno.ENOENT, "the link leads nowhere")
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(name, path, error) from error


def close_folder(path: Path) -> None:
    """Keep other users of the machine out of a folder that is ours; `check --deploy` names one that stays open.

    A folder that is shared on purpose, as /tmp is, has its sticky bit.
    """
    with suppress(OSError):
        found = path.stat()
        if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
            path.chmod(stat.S_IMODE(found.st_mode) & ~PRIVATE_UMASK)


def check_writable(name: str, path: Path) -> None:
    """Refuse a folder in which no file can be made; a full disk is no wrong setting, and passes."""
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise _unusable(name, path, error) from error


def file_secret(path: Path) -> str:
    """Return the secret in `path`, which is made once, readable by its owner alone.

    The text is written to a file of its own and then linked to `path`, so that two processes that start
    together agree on one secret and none reads a half-written one.
    """
    # Not lib.files: settings import no lib, and that one replaces files, while a secret is made once
    try:
        if not path.exists() and not path.is_symlink():
            _make_secret(path)
        if not path.is_file():  # reading a pipe would wait for ever
            raise EnvError("VAR_DIR", str(path.parent), f"{path.name} in it to be a file")
        secret = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise _unusable("VAR_DIR", path.parent, error) from error
    except UnicodeDecodeError:
        secret = ""
    check_secret(
        path.name.upper(),
        secret,
        f", in {path}: restore it from a copy. Only if there is no copy, delete it to create a new one "
        "(after a new withdrawal key, participants' own codes no longer work)",
    )
    return secret


def check_secret(name: str, secret: str, where: str) -> None:
    if len(secret) < _SECRET_LENGTH or len(set(secret)) < _SECRET_CHARACTERS:
        limits = (
            f"at least {_SECRET_LENGTH} characters, at least {_SECRET_CHARACTERS} of them different"
        )
        raise EnvError(name, "***", f"{limits}{where}")  # too short a secret is one still


def _make_secret(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(64))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first: its secret is the one
    finally:
        os.unlink(draft)


def _unusable(name: str, path: Path, error: OSError) -> EnvError:
    return EnvError(name, str(path), f"a folder that can be written to ({error.strerror})")
