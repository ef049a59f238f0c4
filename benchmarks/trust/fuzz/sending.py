"""Sends broken forms to the site, in this process or as bytes over HTTP, and looks at what each of them left behind."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from django.db import connection, transaction
from django.http import HttpResponse
from django.http.cookie import SimpleCookie
from hypothesis import strategies as st

from benchmarks.trust.fuzz.broken import Sent, broken_request, damaged
from benchmarks.trust.fuzz.cases import HangError, Tally, for_each, time_limit
from benchmarks.trust.fuzz.forms import PAGES, Form, People, lab_forms
from benchmarks.trust.fuzz.material import Material, row_counts
from benchmarks.trust.fuzz.person import HOST
from benchmarks.web.people import BAD, GONE
from config.requests import Request
from experiment.models import Participant, Study
from experiment.services import audit
from experiment.services.recounting import check

LONGEST_S = 20.0
WITHIN_S = 60.0  # a process of the site loads its pages at its first visitor
FIRST_REFUSAL = 400
# Of the cases: another process writes to the same SQLite meanwhile
MOST_LOCKED = 0.01
WRITE = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
# May be written although the form is refused: who signs in how often, what was typed, and when a participant was seen
OF_THE_VISIT = {"django_session", "experiment_signinattempts", "experiment_itemscratch"}
# What a wrong choice in the practice, and a look at a page, may change
OF_THE_PAGE = ("last_seen_at", "practice_attempts", "left_at", "started_at")
# What HTTP has for requests that a server does not understand
NOT_HTTP = (501, 505)
WIRE_PAGES = ("consent", "about-you", "trial", "debrief", "return")
END = b"\r\n"
LINES = (
    *(b"GET /", b"GET / HTTP/9.9", b"\x16\x03\x01\x02\x00", b"CONNECT x:1 HTTP/1.1"),
    *(b"GET /" + b"a" * 65_536 + b" HTTP/1.1", b"GET /\xff\xfe HTTP/1.1", b"GET /%00 HTTP/1.1"),
)
HEADERS = (
    *(b"X-Long: " + b"a" * 65_536, b"X-Fold: a\r\n b", b"X-Nul: a\x00b", b": empty", b"NoColon"),
    *(b"X-Lf: a\nSet-Cookie: b=c", b"SCRIPT_NAME: /x", b"Content-Encoding: gzip", b"Expect: x"),
    *(b"Upgrade: h2c", b"Host: a\r\nHost: b", b"Cookie: " + b"a=b; " * 9_000, b"X-\xff: a"),
    *(b"Content-Length: 5\r\nContent-Length: 6", END.join(b"X-%d: a" % n for n in range(300))),
    *(b"Content-Length: " + length for length in (b"-1", b"1e3", b"9" * 20, b"5, 5", b"", b"40")),
    *(b"Transfer-Encoding: " + coding for coding in (b"chunked", b"gzip, chunked", b"xchunked")),
)


@dataclass
class Committed:
    """Tables whose rows were changed for good."""

    tables: set[str] = field(default_factory=set)

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        result = execute(sql, params, many, context)
        # SQLite counts no rows of statements that return some
        if (found := WRITE.match(sql)) and (context["cursor"].rowcount or "RETURNING" in sql):
            table = found[1]
            transaction.on_commit(lambda: self.tables.add(table))  # not where it is rolled back
        return result


@contextmanager
def noting_commits() -> Iterator[Committed]:
    committed = Committed()
    with connection.execute_wrapper(committed):
        yield committed


def deliver(form: Form, sent: Sent) -> HttpResponse:
    """As gunicorn hands it over: cookies and headers as they were sent, whatever is in them."""
    form.client.cookies = SimpleCookie()
    environ = {
        f"HTTP_{name.upper().replace('-', '_')}": value for name, value in sent.headers.items()
    }
    environ["HTTP_COOKIE"] = "; ".join(f"{name}={value}" for name, value in sent.cookies.items())
    path, _, query = sent.path.partition("?")
    with patch("django.test.client.WSGIRequest", Request):  # as the site reads what came
        answer: HttpResponse = form.client.generic(
            sent.method, path, sent.content(), sent.content_type, QUERY_STRING=query, **environ
        )
    return answer


def run(people: Material, lab: Material, seed: int, n: int) -> Tally:
    """Participants are of one study, and the lab's forms change another. Two forms in three are of participants."""
    tally, visitors = Tally(), People(people.study)
    of_lab = lab_forms(lab)
    _check_valid(visitors, tally)

    def try_one(data: st.DataObject) -> None:
        if data.draw(st.integers(0, 2)):
            form = visitors.form(data.draw(st.sampled_from(PAGES)))
        else:
            form = of_lab[data.draw(st.integers(0, len(of_lab) - 1))]
        _try(form, data.draw(broken_request(form.sent)), visitors, tally)

    for_each(st.data(), n, seed, try_one)
    _check_valid(visitors, tally)
    if tally.unavailable > MOST_LOCKED * tally.cases:
        tally.problems.append(f"{tally.unavailable} of {tally.cases} cases met a locked database")
    tally.problems += [f"counter: {drift}" for drift in check(Study.objects.all())]
    if broken := audit.verify():
        tally.problems.append(f"audit trail: event {broken.number}: {broken.what}")
    return tally


def _check_valid(visitors: People, tally: Tally) -> None:
    """Checks that a person who fills the forms in as asked is taken."""
    for name in PAGES:
        form = visitors.at(name)
        status = deliver(form, form.sent).status_code
        if status not in form.taken:
            tally.fail(f"{name}: a valid form was answered {status}")


def _try(form: Form, sent: Sent, visitors: People, tally: Tally) -> None:
    tally.cases += 1
    what = f"{form.name}: {str(sent)[:400]}"
    try:
        with time_limit(LONGEST_S), noting_commits() as committed:
            answer = deliver(form, sent)
    except HangError as error:
        tally.fail(f"{what}: {error}")
        return
    except Exception as error:  # noqa: BLE001 - outside of Django's own handling: what is looked for
        tally.errors += 1
        tally.fail(f"{what}: {type(error).__name__}: {error}")
        return
    if answer.status_code >= BAD:
        is_locked = answer.status_code == GONE and connection.vendor == "sqlite"
        tally.unavailable += is_locked
        tally.errors += not is_locked
        if not is_locked or "Retry-After" not in answer:
            tally.fail(f"{what} was answered {answer.status_code}")
    elif answer.status_code >= FIRST_REFUSAL:
        tally.refused += 1
        if written := _left_behind(form, committed):
            tally.fail(f"{what} was answered {answer.status_code}, and wrote {written}")
        return
    else:
        tally.taken += 1
    visitors.gone(form.name)


def _left_behind(form: Form, committed: Committed) -> str:
    """The changes that a refused form left behind."""
    tables = committed.tables - OF_THE_VISIT - {"experiment_participant"}
    if form.name == "sign-in":
        tables -= {"experiment_auditevent"}  # says that it was refused
    if tables:
        return ", ".join(sorted(tables))
    if form.person is None or "experiment_participant" not in committed.tables:
        return ""
    names = [f.attname for f in Participant._meta.concrete_fields if f.attname not in OF_THE_PAGE]
    now = Participant.objects.get(pk=form.person.pk)
    changed = [name for name in names if getattr(now, name) != getattr(form.person, name)]
    return ", ".join(changed)


def as_bytes(sent: Sent, port: int) -> bytes:
    body = sent.content()
    head = [
        f"{sent.method} {sent.path} HTTP/1.1",
        f"Host: {HOST}:{port}",
        "Connection: close",
        "Cookie: " + "; ".join(f"{name}={value}" for name, value in sent.cookies.items()),
        f"Content-Type: {sent.content_type}",
        *(f"{name}: {value}" for name, value in sent.headers.items()),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(head).encode("latin-1", "replace") + END * 2 + body


@st.composite
def broken_bytes(draw: st.DrawFn, request: bytes) -> bytes:
    """The request with something about it that HTTP does not allow, or that ends too early."""
    line, _, rest = request.partition(END)
    match draw(st.integers(0, 5)):
        case 0:
            return request[: draw(st.integers(0, len(request) - 1))]
        case 1:
            return draw(st.sampled_from(LINES)) + END + rest
        case 2 | 3:
            return line + END + draw(st.sampled_from(HEADERS)) + END + rest
        case 4:  # one after the other on one connection
            return request.replace(b"Connection: close\r\n", b"", 1) + draw(damaged(request))
    return draw(damaged(request))


def ask(port: int, request: bytes) -> list[int]:
    """The statuses of all answers; raises TimeoutError where the connection stays open."""
    with socket.create_connection((HOST, port), timeout=WITHIN_S) as opened:
        answer = b""
        try:
            opened.sendall(request)
            opened.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has heard enough
        try:
            while received := opened.recv(65_536):
                answer += received
        except ConnectionResetError:
            pass
    return [int(status) for status in STATUS.findall(answer)]


def run_wire(material: Material, port: int, seed: int, n: int) -> Tally:
    """No answer is a failure of the site's, none is missing for long, and what is refused stores nothing."""
    tally, people = Tally(), People(material.study)

    def try_one(data: st.DataObject) -> None:
        form = people.form(data.draw(st.sampled_from(WIRE_PAGES)))
        before = row_counts()
        request = data.draw(broken_bytes(as_bytes(form.sent, port)))
        tally.cases += 1
        what = f"{form.name}: {request[:300]!r}"
        try:
            statuses = ask(port, request)
        except TimeoutError:
            tally.fail(f"{what}: no end within {WITHIN_S:g} s")
            return
        if failed := [status for status in statuses if status >= BAD and status not in NOT_HTTP]:
            tally.errors += len(failed)
            tally.fail(f"{what}: answered {failed}")
        if any(status < FIRST_REFUSAL for status in statuses):
            tally.taken += 1
            people.gone(form.name)
            return
        tally.refused += 1
        now = row_counts()
        changed = [name for name in now if now[name] != before[name] and name != "django_session"]
        if changed:
            tally.fail(f"{what}: answered {statuses}, and wrote {', '.join(changed)}")

    for_each(st.data(), n, seed, try_one)
    for name in WIRE_PAGES:
        if not set(ask(port, as_bytes(people.at(name).sent, port))) & {302, 303}:
            tally.problems.append(f"{name}: a valid form is not taken any more")
    return tally
