"""The text of a file that somebody gives: what is no such file is refused in a sentence."""

import codecs
import stat
from pathlib import Path

from lib.files import read_regular
from lib.newlines import with_unix_newlines

MAX_BYTES = 256 * 1024 * 1024
PARQUET = b"PAR1"
# How files begin that are often taken for a table
KINDS = {
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or another zip file: save the sheet as “CSV UTF-8”",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls): save the sheet as “CSV UTF-8”",
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"%PDF": "a PDF",
    PARQUET: "a Parquet file: write it as JSONL or CSV",
    codecs.BOM_UTF16_LE: "text in UTF-16: save it as “CSV UTF-8”",
    codecs.BOM_UTF16_BE: "text in UTF-16: save it as “CSV UTF-8”",
}
# Control characters that texts have
IN_TEXTS = frozenset(b"\t\n\v\f\r\x1a\x1b")


class FileRefusedError(Exception):
    """The file cannot be read at all; the message says why."""


def read_content(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises:
        FileRefusedError: it is none, too large, or no Parquet file though its name says so.
    """
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise FileRefusedError(f"{path} is a folder: name a file.")
        if not stat.S_ISREG(about.st_mode):
            # A pipe would be waited for, and a device never ends
            raise FileRefusedError(f"{path} is no regular file.")
        if about.st_size > MAX_BYTES:
            raise FileRefusedError(f"{path} has more than {MAX_BYTES // 2**20} MB: split it.")
        data = read_regular(path, MAX_BYTES)
    except FileNotFoundError as error:
        where = "is a link to nowhere" if path.is_symlink() else "does not exist"
        raise FileRefusedError(f"{path} {where}.") from error
    except OSError as error:
        raise FileRefusedError(f"{path} cannot be read: {error.strerror or error}.") from error
    if path.suffix.casefold() == ".parquet" and data and not data.startswith(PARQUET):
        raise FileRefusedError(f"{path} is no Parquet file, or a broken one: write it anew.")
    return data


def text_of(data: bytes) -> str:
    """The text, its line breaks as in Unix.

    Raises:
        FileRefusedError: the file is empty, of another kind, or not UTF-8.
    """
    for beginning, what in KINDS.items():
        if data.startswith(beginning):
            raise FileRefusedError(f"The file is {what}.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if any(byte < 32 and byte not in IN_TEXTS for byte in data[:1_000]):
            raise FileRefusedError(
                f"The file is no text: byte 0x{data[error.start]:02x} in line {line}. Write it anew as CSV or JSONL."
            ) from error
        before = data[max(0, error.start - 20) : error.start].decode("ascii", "replace")
        where = f"after “{before}”" if before.strip() else "at its beginning"
        raise FileRefusedError(
            f"The file is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}, {where}. "
            "Save it as “CSV UTF-8”."
        ) from error
    if not text.strip():
        raise FileRefusedError("The file is empty.")
    return with_unix_newlines(text)
