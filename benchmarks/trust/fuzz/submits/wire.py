"""Broken bytes to a real server: no answer is a failure of the site's, none is missing for long, and what is refused stores nothing."""

import re
import socket
from collections.abc import Iterable

from benchmarks.trust.fuzz.breaking.requests import Sent, broken_request
from benchmarks.trust.fuzz.breaking.wire import broken_wire
from benchmarks.trust.fuzz.cases import Case, Tally
from benchmarks.trust.fuzz.material import Material, row_counts
from benchmarks.trust.fuzz.submits.forms import HOST, Form, People
from benchmarks.trust.people import BAD

OF = "wire"
WITHIN_S = 30.0
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
# What HTTP has for requests that a server does not understand
NOT_HTTP = (501, 505)
PAGES = ("consent", "about-you", "trial", "debrief", "return")
FIRST_REFUSAL = 400


def as_bytes(sent: Sent, port: int) -> bytes:
    body = sent.content()
    cookie = "; ".join(f"{name}={value}" for name, value in sent.cookies.items())
    head = [
        f"{sent.method} {sent.path} HTTP/1.1",
        f"Host: {HOST}:{port}",
        "Connection: close",
        f"Cookie: {cookie}",
        f"Content-Type: {sent.content_type}",
        *(f"{name}: {value}" for name, value in sent.headers.items()),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + body


def ask(port: int, request: bytes) -> list[int]:
    """The statuses of all answers; raises TimeoutError where the connection stays open."""
    with socket.create_connection((HOST, port), timeout=WITHIN_S) as connection:
        answer = b""
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has heard enough
        try:
            while received := connection.recv(65_536):
                answer += received
        except ConnectionResetError:
            pass
    return [int(status) for status in STATUS.findall(answer)]


def run(material: Material, port: int, seed: int, numbers: Iterable[int]) -> Tally:
    tally, people, before = Tally(), People(material.study), row_counts()
    for number in numbers:
        case = Case(OF, seed, number)
        rng = case.rng()
        name = rng.choice(PAGES)
        is_new = name not in people._waiting
        form = people.form(name)
        if is_new:
            before = row_counts()
        sent = broken_request(rng, form.sent) if rng.random() < 0.3 else form.sent
        request = broken_wire(rng, as_bytes(sent, port))
        tally.cases += 1
        try:
            statuses = ask(port, request)
        except TimeoutError:
            tally.fail(case, f"{name}: no end within {WITHIN_S:g} s")
            continue
        before = _judge(case, form, statuses, before, people, tally)
    for name in PAGES:
        if not set(ask(port, as_bytes(people.pages()[name]().sent, port))) & {302, 303}:
            tally.problems.append(f"{name}: a valid form is not taken any more")
    return tally


def _judge(
    case: Case,
    form: Form,
    statuses: list[int],
    before: dict[str, int],
    people: People,
    tally: Tally,
) -> dict[str, int]:
    """Note what is wrong; the rows as they are now."""
    failed = [status for status in statuses if status >= BAD and status not in NOT_HTTP]
    if failed:
        tally.errors += len(failed)
        tally.fail(case, f"{form.name}: answered {failed}")
    now = row_counts()
    if any(status < FIRST_REFUSAL for status in statuses):
        tally.taken += 1
        people.gone(form.name)
        return now
    tally.refused += 1
    changed = [name for name in now if now[name] != before[name] and name != "django_session"]
    if changed:
        tally.fail(case, f"{form.name}: answered {statuses}, and wrote {', '.join(changed)}")
    return now
