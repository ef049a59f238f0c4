"""A request that would be taken, with one to three things about it that no page sends."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import quote, urlencode

from benchmarks.trust.fuzz.breaking.content import broken
from benchmarks.trust.fuzz.breaking.values import altered, hostile

FORM = "application/x-www-form-urlencoded"
BOUNDARY = "frontier"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
Fields = list[tuple[str, str]]

TYPES = (
    *("", "text/plain", "application/json", "application/xml", "multipart/form-data", MULTIPART),
    *(f"{FORM}; charset=utf-16", f"{FORM}; charset=hex", f"{FORM}; charset=nope", f"{FORM};;=;"),
    *(
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\xe9",
        f"{MULTIPART}; boundary=b",
    ),
    f"multipart/form-data; boundary={'b' * 300}",
)
METHODS = (
    "GET",
    "HEAD",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "post",
    "PROPFIND",
    "X" * 40,
)
HEADERS = {
    "Accept": ("application/json", "", "*/*;q=nan", "a" * 5_000),
    "Accept-Language": ("de" * 3_000, "\xff", "en;q=1e400", "x-\x7f"),
    "Accept-Encoding": ("gzip;q=0", "br," * 900),
    "Referer": ("", "http://[", "https://evil.example/", "\xe9"),
    "Origin": ("null", "https://evil.example", "http://[::1", ""),
    "X-Forwarded-For": ("\xff", "1.2.3.4, " * 400, "[::"),
    "X-Forwarded-Host": ("evil.example", "a b"),
    "X-Forwarded-Proto": ("https", "https, http"),
    "X-Requested-With": ("XMLHttpRequest",),
    "X-Csrftoken": ("x", "\xff" * 64, "a" * 64),
    "Range": ("bytes=0-,0-", "bytes=-1"),
    "If-Modified-Since": ("never", "Thu, 99 Jan 99999 00:00:00 GMT"),
    "If-None-Match": ('"', "W/" * 99),
    "Authorization": ("Bearer ", "Bearer \xff", "Basic ====", "Bearer bbl_" + "x" * 43),
    "Cookie2": ("$Version=1",),
    "Host": ("evil.example", "127.0.0.1:99999", "[::1", "a_b", ""),
}
COOKIES = (
    "",
    "x",
    "a:b:c",
    "\xff",
    '"',
    "1:" * 2_000,
    "eyJrZXkiOiAxfQ:1tAAAA:AAAA",
    "%00",
    "\\073",
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request; `body` in the place of the fields, where they cannot say it."""

    path: str
    fields: Fields
    cookies: dict[str, str]
    method: str = "POST"
    content_type: str = FORM
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.files or self.content_type.startswith(MULTIPART):
            return multipart(self.fields, self.files)
        return urlencode(self.fields, errors="surrogatepass").encode()


Breaker = Callable[[random.Random, Sent], Sent]


def multipart(fields: Fields, files: dict[str, bytes]) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode(
            "utf-8", "surrogatepass"
        )
        for name, value in fields
    ]
    parts += [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="a.csv"\r\n'
        "Content-Type: text/csv\r\n\r\n".encode()
        + content
        + b"\r\n"
        for name, content in files.items()
    ]
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def other_value(rng: random.Random, sent: Sent) -> Sent:
    if not sent.fields:
        return sent
    fields, at = [*sent.fields], rng.randrange(len(sent.fields))
    name, value = fields[at]
    fields[at] = name, hostile(rng) if rng.random() < 0.6 else altered(rng, value)
    return replace(sent, fields=fields)


def other_fields(rng: random.Random, sent: Sent) -> Sent:
    """Left out, twice, under another name, or beside many others."""
    fields = [*sent.fields]
    at = rng.randrange(len(fields)) if fields else 0
    match rng.randrange(7):
        case 0:
            del fields[at : at + 1]
        case 1 if fields:
            fields.insert(rng.randint(0, len(fields)), (fields[at][0], hostile(rng)))
        case 2 if fields:
            fields[at] = altered(rng, fields[at][0]), fields[at][1]
        case 3:
            fields += [(f"a{n}", "1") for n in range(rng.choice((50, 10_000)))]
        case 4:
            fields.append(("[a]".join("b" * rng.choice((10, 3_000))), "1"))
        case 5:
            rng.shuffle(fields)
        case _:
            fields = []
    return replace(sent, fields=fields)


def other_body(rng: random.Random, sent: Sent) -> Sent:
    content = sent.content()
    match rng.randrange(4):
        case 0:
            junk = rng.choice(
                (
                    b"%00",
                    b"%ff%fe",
                    b"%ed%a0%80",
                    b"%zz",
                    b"%",
                    b"&&&",
                    b"=",
                    b"+",
                    b";",
                    b"\x00",
                    b"\xff",
                )
            )
            at = rng.randint(0, len(content))
            return replace(sent, body=content[:at] + junk + content[at:])
        case 1:
            return replace(sent, body=content.replace(b"=", rng.choice((b"", b"==", b"&", b"%3D"))))
    return replace(sent, body=broken(rng, content))


def as_multipart(rng: random.Random, sent: Sent) -> Sent:
    """The form in another encoding, whole or damaged at its seams."""
    content = multipart(sent.fields, sent.files or {"file": b"a,b\n"})
    match rng.randrange(6):
        case 0:
            content = content.replace(b"--frontier--\r\n", b"")
        case 1:
            content = content.replace(b"\r\n\r\n", b"\r\n", rng.randint(1, 4))
        case 2:
            content = content.replace(b'"\r\n', b'"; filename="../../x\x00"\r\n', 1)
        case 3:
            content = content.replace(
                b"form-data", rng.choice((b"attachment", b"", b"form-data; filename*=utf-8''%zz"))
            )
        case 4:
            content = content.replace(
                b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1
            )
    return replace(sent, body=content, content_type=MULTIPART)


def other_type(rng: random.Random, sent: Sent) -> Sent:
    return replace(sent, body=sent.content(), content_type=rng.choice(TYPES))


def other_method(rng: random.Random, sent: Sent) -> Sent:
    return replace(sent, method=rng.choice(METHODS))


def other_headers(rng: random.Random, sent: Sent) -> Sent:
    name = rng.choice([*HEADERS])
    return replace(sent, headers={**sent.headers, name: rng.choice(HEADERS[name])})


def other_cookies(rng: random.Random, sent: Sent) -> Sent:
    cookies = dict(sent.cookies)
    name = rng.choice([*cookies]) if cookies else "sessionid"
    match rng.randrange(4):
        case 0:
            cookies.pop(name, None)
        case 1:
            value = cookies.get(name, "")
            at = rng.randrange(len(value) + 1)
            cookies[name] = value[:at] + rng.choice("A:0-_") + value[at + 1 :]
        case 2:
            cookies[
                rng.choice(
                    ("bb-participant-x", "bb-entry-x", "sessionid", "csrftoken", "messages", "")
                )
            ] = rng.choice(COOKIES)
        case _:
            cookies[name] = rng.choice(COOKIES)
    return replace(sent, cookies=cookies)


def other_path(rng: random.Random, sent: Sent) -> Sent:
    parts = sent.path.split("/")
    at = rng.randrange(len(parts))
    parts[at] = (
        quote(hostile(rng)[:2_000], safe="", errors="replace")
        if rng.random() < 0.7
        else parts[at] * 2
    )
    query = urlencode({hostile(rng)[:200]: hostile(rng)[:9_000]}, errors="replace")
    path = "/".join(parts) if rng.random() < 0.6 else sent.path
    return replace(sent, path=f"/{path.lstrip('/')}" + (f"?{query}" if rng.random() < 0.5 else ""))


BREAKERS: tuple[Breaker, ...] = (
    *(other_value, other_value, other_value, other_fields, other_fields, other_body),
    *(as_multipart, other_type, other_method, other_headers, other_cookies, other_path),
)


def broken_request(rng: random.Random, sent: Sent) -> Sent:
    for _ in range(rng.choice((1, 1, 2, 3))):
        sent = rng.choice(BREAKERS)(rng, sent)
    return sent
