"""Input that no page sends and no program writes, as hypothesis draws it: values, files, forms and bytes on the wire."""

import json
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

FORM = "application/x-www-form-urlencoded"
BOUNDARY = "frontier"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
Fields = list[tuple[str, str]]
Row = dict[str, str]

SPECIAL = (
    *("", " ", "\t", "\r\n", "\x00", "A\x00", "\x1b[2J", "\x85", "\u2028", "\ufeff", "\u202eabc"),
    *("\u0301" * 50, "\U0010ffff", "0", "-1", "1.5", "1e400", "NaN", "-Infinity", "½", "٣"),
    *("2147483648", "-9223372036854775809", "9" * 400, "1,000", "true", "null", "[[a, b]]"),
    *("[[a, b", "[[ , ]]", "'", '"', "\\", "%s", "{{ x }}", "{% now %}", "<script>", "../../x"),
    *("=1+1", "A", "yes", "2026-02-30", "http://[", "a" * 5_000, "x" * 100_000),
)
texts = st.one_of(
    st.sampled_from(SPECIAL), st.text(max_size=50), st.text(st.characters(codec=None), max_size=50)
)
HEADERS = {
    "Accept": ("application/json", "*/*;q=nan", "a" * 5_000),
    "Accept-Language": ("de" * 3_000, "\xff", "en;q=1e400"),
    "Referer": ("http://[", "https://evil.example/"),
    "Origin": ("null", "https://evil.example", "http://[::1"),
    "X-Forwarded-For": ("\xff", "1.2.3.4, " * 400, "[::"),
    "X-Forwarded-Proto": ("https", "https, http"),
    "X-Csrftoken": ("x", "\xff" * 64),
    "Range": ("bytes=0-,0-",),
    "If-Modified-Since": ("Thu, 99 Jan 99999 00:00:00 GMT",),
    "Authorization": ("Bearer ", "Bearer \xff", "Basic ===="),
    "Host": ("evil.example", "127.0.0.1:99999", "[::1", "a_b", ""),
}
TYPES = (
    *("", "text/plain", "application/json", "multipart/form-data", MULTIPART, f"{FORM};;=;"),
    *(f"{FORM}; charset=utf-16", f"{FORM}; charset=hex", "multipart/form-data; boundary=\xe9"),
)
METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "X" * 40)
COOKIES = ("", "x", "a:b:c", "\xff", '"', "1:" * 2_000, "eyJrZXkiOiAxfQ:1tAAAA:AAAA", "\\073")
JUNK = (b"%00", b"%ff%fe", b"%ed%a0%80", b"%zz", b"&&&", b"=", b"\x00", b"\xff", b"\r\n\r\n")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """A part is left out, doubled, or other bytes stand in its place."""
    start = draw(st.integers(0, len(content)))
    end = min(len(content), start + draw(st.sampled_from((0, 1, 8, 100, len(content)))))
    part = draw(
        st.sampled_from((b"", content[start:end] * 2, *JUNK)) | st.binary(min_size=1, max_size=16)
    )
    return content[:start] + part + content[end:]


@st.composite
def damaged_rows(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """One value of a table is another, a column has another name, or a row comes twice or not."""
    made, at = [dict(row) for row in rows], draw(st.integers(0, len(rows) - 1))
    name = draw(st.sampled_from(sorted(rows[at])))
    match draw(st.sampled_from(("value", "value", "value", "column", "double", "gone"))):
        case "value":
            made[at][name] = draw(texts)
        case "column":
            other = draw(texts)
            made = [{other if key == name else key: row[key] for key in row} for row in made]
        case "double":
            made.append(made[at])
        case _:
            del made[at]
    return made or [dict(rows[0])]


@st.composite
def damaged_json(draw: st.DrawFn, value: Any) -> bytes:
    """One place of a document holds another value, or is gone."""
    document = json.loads(json.dumps(value))
    place, steps = document, draw(st.integers(1, 6))
    for step in range(steps):
        keys: list[Any] = sorted(place) if isinstance(place, dict) else [*range(len(place))]
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if step < steps - 1 and isinstance(place[key], dict | list):
            place = place[key]
        elif draw(st.integers(0, 3)):
            place[key] = draw(json_values)
            break
        else:
            del place[key]
            break
    return json.dumps(document).encode()


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


def multipart(fields: Fields, files: dict[str, bytes]) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="'
    parts = [
        f'{head}{name}"\r\n\r\n{value}\r\n'.encode("utf-8", "surrogatepass")
        for name, value in fields
    ]
    for name, content in files.items():
        about = f'{head}{name}"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
        parts.append(about.encode() + content + b"\r\n")
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


@st.composite
def broken_request(draw: st.DrawFn, sent: Sent) -> Sent:
    """A form that would be taken, with one to three things about it that no page sends."""
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        sent = draw(st.sampled_from(BREAKERS))(draw, sent)
    return sent


def _other_value(draw: st.DrawFn, sent: Sent) -> Sent:
    if not sent.fields:
        return sent
    fields, at = [*sent.fields], draw(st.integers(0, len(sent.fields) - 1))
    fields[at] = fields[at][0], draw(texts)
    return replace(sent, fields=fields)


def _other_fields(draw: st.DrawFn, sent: Sent) -> Sent:
    """Left out, twice, under another name, or beside many others."""
    fields = [*sent.fields]
    at = draw(st.integers(0, max(0, len(fields) - 1)))
    match draw(st.integers(0, 3)):
        case 0:
            del fields[at : at + 1]
        case 1 if fields:
            fields.append((fields[at][0], draw(texts)))
        case 2 if fields:
            fields[at] = draw(texts), fields[at][1]
        case _:
            fields += [(f"a{n}", "1") for n in range(draw(st.sampled_from((50, 10_000))))]
    return replace(sent, fields=fields)


def _other_body(draw: st.DrawFn, sent: Sent) -> Sent:
    return replace(sent, body=draw(damaged(sent.content())))


def _as_multipart(draw: st.DrawFn, sent: Sent) -> Sent:
    content = multipart(sent.fields, sent.files or {"file": b"a,b\n"})
    return replace(sent, body=draw(st.just(content) | damaged(content)), content_type=MULTIPART)


def _other_type(draw: st.DrawFn, sent: Sent) -> Sent:
    return replace(sent, body=sent.content(), content_type=draw(st.sampled_from(TYPES)))


def _other_method(draw: st.DrawFn, sent: Sent) -> Sent:
    return replace(sent, method=draw(st.sampled_from(METHODS)))


def _other_header(draw: st.DrawFn, sent: Sent) -> Sent:
    name = draw(st.sampled_from(sorted(HEADERS)))
    return replace(sent, headers={**sent.headers, name: draw(st.sampled_from(HEADERS[name]))})


def _other_cookie(draw: st.DrawFn, sent: Sent) -> Sent:
    name = draw(st.sampled_from([*sorted(sent.cookies), "sessionid", "bb-participant-x", ""]))
    return replace(sent, cookies={**sent.cookies, name: draw(st.sampled_from(COOKIES))})


def _other_path(draw: st.DrawFn, sent: Sent) -> Sent:
    parts = sent.path.split("/")
    at = draw(st.integers(0, len(parts) - 1))
    parts[at] = quote(draw(texts)[:2_000], safe="", errors="replace")
    query = urlencode({draw(texts)[:200]: draw(texts)[:9_000]}, errors="replace")
    path = sent.path if draw(st.booleans()) else "/" + "/".join(parts).lstrip("/")
    return replace(sent, path=f"{path}?{query}")


BREAKERS = (
    *(_other_value, _other_value, _other_value, _other_fields, _other_body, _as_multipart),
    *(_other_type, _other_method, _other_header, _other_cookie, _other_path),
)
