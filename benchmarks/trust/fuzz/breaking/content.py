"""A file's bytes, changed without knowing what they mean."""

import gzip
import io
import random
import zipfile
from collections.abc import Callable

JUNK = (
    *(
        b"\x00",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xf4\x90\x80\x80",
    ),
    *(
        b"\r",
        b"\n",
        b"\r\n",
        b"\x0b",
        b"\x1a",
        b"\x85",
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b":",
    ),
    *(
        b"\x80",
        b"\xe2\x80\xa8",
        b"\xe2\x80\xae",
        b"\xff" * 64,
        b"\x00" * 4096,
        b"9" * 5000,
        b"[" * 3000,
        b'"' * 999,
    ),
)
Breaker = Callable[[random.Random, bytes], bytes]


def inserted(rng: random.Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(JUNK) + data[at:]


def flipped(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut_out(rng: random.Random, data: bytes) -> bytes:
    start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[:start] + data[end:]


def cut_off(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randint(0, len(data))]


def repeated(rng: random.Random, data: bytes) -> bytes:
    start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return data[:end] + data[start:end] * rng.choice((1, 2, 20)) + data[end:]


def recoded(rng: random.Random, data: bytes) -> bytes:
    """In another encoding, or with other ends of lines."""
    text = data.decode(errors="replace")
    match rng.randrange(6):
        case 0:
            return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig")))
        case 1:
            return text.encode("latin-1", "replace")
        case 2:
            return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b"\x85")))
        case 3:
            return b"\xef\xbb\xbf" * 2 + data
        case 4:
            return data.replace(b"\n", b"")
    return data.swapcase()


def wrapped(rng: random.Random, data: bytes) -> bytes:
    """As another kind of file."""
    if rng.random() < 0.5:
        return gzip.compress(data, mtime=0)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("data"), data)
    return rng.choice((flipped, cut_off, lambda _, same: same))(rng, file.getvalue())


def nothing(rng: random.Random, data: bytes) -> bytes:
    return rng.choice(
        (
            b"",
            b"\n",
            b" ",
            b"\x00",
            b"PK\x03\x04",
            b"PAR1",
            b"\x93NUMPY",
            b"{}",
            b"[]",
            b"null",
            b'""',
            b"%PDF-1.7",
        )
    )


BREAKERS: tuple[Breaker, ...] = (
    inserted,
    inserted,
    flipped,
    flipped,
    cut_out,
    cut_off,
    repeated,
    recoded,
    wrapped,
    nothing,
)


def broken(rng: random.Random, data: bytes) -> bytes:
    return rng.choice(BREAKERS)(rng, data)
