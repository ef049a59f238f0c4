"""A request as bytes, with something about them that HTTP does not allow, or that ends too early."""

import random
from collections.abc import Callable

from benchmarks.trust.fuzz.breaking.content import broken, flipped

END = b"\r\n"
LENGTHS = (
    b"-1",
    b"1e3",
    b"0x10",
    b"99999999999999999999",
    b"+5",
    b"5, 5",
    b"",
    b"\x00",
    b"\xc2\xb2",
    b"0",
)
CODINGS = (
    b"chunked",
    b"chunked, chunked",
    b"gzip, chunked",
    b"xchunked",
    b"chunked\x00",
    b"identity",
    b" chunked",
    b"\x0bchunked",
)
CHUNKS = (b"zz", b"-1", b"ffffffffffffffffffff", b"5;" + b"a" * 9_000, b"", b"0x5", b"5 \x00")
LINES = (
    *(
        b"GET /",
        b"GET / HTTP/9.9",
        b"GET / HTTP/1.1 x",
        b"\x16\x03\x01\x02\x00",
        b"GET http://127.0.0.1/ HTTP/1.1",
        b"* / HTTP/1.1",
    ),
    *(
        b"GET /" + b"a" * 65_536 + b" HTTP/1.1",
        b"GET /\xff\xfe HTTP/1.1",
        b"GET /%00 HTTP/1.1",
        b"CONNECT x:1 HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
    ),
)
HEADERS = (
    *(
        b"X-Long: " + b"a" * 65_536,
        b"X-Fold: a\r\n b",
        b"X-Nul: a\x00b",
        b"X Space: a",
        b": empty",
        b"NoColon",
        b"X-Cr: a\rb",
        b"X-Lf: a\nSet-Cookie: b=c",
    ),
    *(
        b"SCRIPT_NAME: /x",
        b"Script-Name: /x",
        b"PATH_INFO: /lab/",
        b"Remote-User: root",
        b"Content-Type: text/plain; charset=\x00",
        b"Content-Encoding: gzip",
    ),
    *(
        b"Expect: 100-continue",
        b"Expect: x",
        b"Upgrade: h2c",
        b"Connection: Upgrade, HTTP2-Settings",
        b"Host: a\r\nHost: b",
        b"Cookie: " + b"a=b; " * 9_000,
    ),
    *(
        b"X-\xff: a",
        b"\xe9: \xe9",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Type: multipart/form-data; boundary=\x00",
        b"Accept-Language: \x00",
    ),
    b"\r\n".join(b"X-%d: a" % n for n in range(300)),
)
Breaker = Callable[[random.Random, bytes], bytes]


def cut(rng: random.Random, request: bytes) -> bytes:
    return request[: rng.randint(0, len(request) - 1)]


def cut_body(rng: random.Random, request: bytes) -> bytes:
    head, _, body = request.partition(END * 2)
    return head + END * 2 + body[: rng.randint(0, max(0, len(body) - 1))]


def other_length(rng: random.Random, request: bytes) -> bytes:
    head, _, body = request.partition(END * 2)
    lines = [line for line in head.split(END) if not line.startswith(b"Content-Length")]
    right = len(body)
    length = rng.choice((*LENGTHS, *(str(right + n).encode() for n in (-3, 1, 40, 40_000_000))))
    return END.join([*lines, b"Content-Length: " + length]) + END * 2 + body


def chunked(rng: random.Random, request: bytes) -> bytes:
    """As chunks, whose sizes are right or wrong; with a length beside them, or none."""
    head, _, body = request.partition(END * 2)
    lines = head.split(END)
    if rng.random() < 0.6:
        lines = [line for line in lines if not line.startswith(b"Content-Length")]
    size = rng.choice((b"%x" % len(body), *CHUNKS))
    end = rng.choice((b"0\r\n\r\n", b"", b"0\r\nX: a\r\n\r\n", b"0\r\n" + b"X: a\r\n" * 5_000))
    coding = b"Transfer-Encoding: " + rng.choice((b"chunked", *CODINGS))
    return END.join([*lines, coding]) + END * 2 + size + END + body + END + end


def other_line(rng: random.Random, request: bytes) -> bytes:
    _, _, rest = request.partition(END)
    return rng.choice(LINES) + END + rest


def more_headers(rng: random.Random, request: bytes) -> bytes:
    line, _, rest = request.partition(END)
    return line + END + rng.choice(HEADERS) + END + rest


def flipped_head(rng: random.Random, request: bytes) -> bytes:
    head, _, body = request.partition(END * 2)
    return flipped(rng, head) + END * 2 + body


def other_ends(rng: random.Random, request: bytes) -> bytes:
    return request.replace(END, rng.choice((b"\n", b"\r", b"\r\r\n")))


def twice(rng: random.Random, request: bytes) -> bytes:
    """One after the other on one connection, the second one broken."""
    return request.replace(b"Connection: close\r\n", b"", 1) + broken(rng, request)


BREAKERS: tuple[Breaker, ...] = (
    *(cut, cut_body, other_length, other_length, chunked, chunked, other_line, more_headers),
    *(more_headers, flipped_head, other_ends, twice),
)


def broken_wire(rng: random.Random, request: bytes) -> bytes:
    return rng.choice(BREAKERS)(rng, request)
