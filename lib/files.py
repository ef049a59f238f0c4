"""Files that appear whole or not at all: written beside their place under a passing name, and renamed.

A file that is replaced gives its mode to the new one. What a link points to is replaced, not the link. A killed
process leaves a `.NAME.<pid>.<random>` behind. An OSError names the file that was wanted. `durable` brings content and name to disk: both survive a power cut.
"""

import codecs
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

MOST = 100 * 2**20
BLOCK = 2**20


def read_regular(path: Path, most: int = MOST) -> bytes:
    """A regular file's bytes: nothing is waited for, and no device read without end.

    Raises:
        OSError: it is a folder, a pipe, a socket or a device, has more bytes, or cannot be opened.
    """
    # One byte more, as a file may grow while it is read
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """A regular file to read bytes of; nothing is waited for.

    Raises:
        OSError: it is a folder, a pipe, a socket or a device, or cannot be opened; without `follow`, it is a link.
    """
    # A pipe would be waited for by the opening itself
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder, not a file", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def not_utf8(path: Path) -> str:
    """A sentence on a file that has turned out to be no UTF-8: its first wrong byte and the line, from 1; "" where it is UTF-8."""
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with open_regular(path) as file:
        while True:
            block = file.read(BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return wrong_byte(error, line)
            if not block:
                return ""
            line += block.count(b"\n")


def wrong_byte(error: UnicodeDecodeError, line: int = 1) -> str:
    """A sentence on the wrong byte; `line`: that in which the decoded bytes begin."""
    line += error.object.count(b"\n", 0, error.start)
    byte = error.object[error.start]
    return f"it is not UTF-8 text: byte 0x{byte:02x} in line {line}; save it as UTF-8"


def not_json(error: Exception) -> str:
    """The message of json about one line of a file, without json's own count of lines.

    >>> try: json.loads('{"text": }')
    ... except ValueError as error: not_json(error)
    'Expecting value, character 10'
    """
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, character {error.pos + 1}"
    return str(error)


@contextmanager
def atomic_file(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write and read that takes its place when the block ends without an error."""
    path = path.resolve()
    with _draft(path) as (draft, file):
        yield file
        _sync(file, durable)
        _replace(draft, path, durable)


def write_file(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Put a whole file in its place; a text in UTF-8, with its line ends as they are."""
    with atomic_file(path, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def staged_file(path: Path, content: bytes) -> Iterator[Callable[[], None]]:
    """The content on disk, and a function that puts it in its place in a moment; uncalled, nothing remains."""
    path = path.resolve()
    with _draft(path) as (draft, file):
        file.write(content)
        _sync(file, durable=True)
        yield lambda: _replace(draft, path, durable=True)


@contextmanager
def _draft(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with draft.open("x+b") as file:
            try:
                yield draft, file
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        # A write that fails names no file, and the draft's name tells a reader nothing
        if error.filename is None or str(error.filename) == str(draft):
            error.filename = str(path)
        raise


def _sync(file: BinaryIO, durable: bool) -> None:
    file.flush()
    if durable:
        os.fsync(file.fileno())


def _replace(draft: Path, path: Path, durable: bool) -> None:
    if path.exists():
        draft.chmod(path.stat().st_mode & 0o777)
    draft.replace(path)
    if durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
