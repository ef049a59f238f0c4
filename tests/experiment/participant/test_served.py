"""The site as it is served: killed in the midst of work, sent everything 50 times at once, and what is hardly HTTP."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from django.db import connections

from experiment.models import Judgment, Participant, Study, Trial
from experiment.services import taking_part
from experiment.services.sign_in import MOST_ATTEMPTS
from tests.experiment.http_client import (
    TIMEOUT_S,
    Server,
    Visitor,
    at_once,
    hidden_fields,
    send_bytes,
    send_copies,
)
from tests.experiment.people import ABOUT_ME, RATED, open_page, stored
from tests.experiment.refusals import FORM
from tests.experiment.services.people.test_at_once import SAID
from tests.factories import make_user

N_PEOPLE = 12
KILL_AFTER = 30  # acknowledged answers
N_COPIES = 50
N_GUESSES = 64


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Server]:
    """On the tests' own database: to start it takes longer than most of the tests."""
    server = Server(tmp_path_factory.mktemp("served"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(served: Server, transactional_db: None, open_study: Study) -> Iterator[Server]:
    """Other processes see the rows because nothing is rolled back."""
    yield served
    log = served.log.read_text()
    # As Django and gunicorn report what they did not expect
    assert "Internal Server Error" not in log
    assert "Error handling request" not in log


@dataclass
class Burst:
    """People who answer as fast as they can, until the server is gone."""

    server: Server
    slug: str
    enough: threading.Event = field(default_factory=threading.Event)
    acknowledged: dict[str, str] = field(default_factory=dict)  # idempotency key -> side

    def take_part(self, visitor: Visitor, number: int) -> requests.PreparedRequest | None:
        """Answer until an answer or the next page does not come; the request that no one acknowledged."""
        try:
            page = visitor.open()
            while not page.url.endswith("/debrief/"):
                side = "AB"[number % 2]
                prepared = visitor.prepare(page, side=side, **RATED)
                try:
                    answer = visitor.session.send(
                        prepared, allow_redirects=False, timeout=TIMEOUT_S
                    )
                except requests.RequestException:
                    return prepared
                assert answer.status_code == 303, answer.text
                self.acknowledged[hidden_fields(page.text)["idempotency_key"]] = side
                if len(self.acknowledged) >= KILL_AFTER:
                    self.enough.set()
                page = visitor.open(answer.headers["Location"])
        except requests.RequestException:
            pass  # it was a page that did not come
        return None

    def kill_in_the_midst(self) -> None:
        assert self.enough.wait(timeout=TIMEOUT_S)
        self.server.kill()


def test_a_kill_amid_a_burst_keeps_each_acknowledged_answer_once_and_others_can_be_sent_again(
    server: Server, open_study: Study
) -> None:
    burst = Burst(server, open_study.slug)
    visitors = [Visitor(server.url, open_study.slug) for _ in range(N_PEOPLE)]
    at_once([visitor.reach_first_trial for visitor in visitors])
    jobs = [
        lambda number=number, visitor=visitor: burst.take_part(visitor, number)
        for number, visitor in enumerate(visitors)
    ]
    connections.close_all()
    *unacknowledged, _ = at_once([*jobs, burst.kill_in_the_midst])
    n_acknowledged = len(burst.acknowledged)
    assert KILL_AFTER <= n_acknowledged < N_PEOPLE * open_study.n_trials

    server.start()
    stored = dict(Judgment.objects.values_list("idempotency_key", "side"))
    stored = {str(key): side for key, side in stored.items()}
    assert len(stored) == Judgment.objects.count()
    assert burst.acknowledged.items() <= stored.items()
    assert len(stored) - n_acknowledged <= sum(sent is not None for sent in unacknowledged)

    in_doubt = 0
    for visitor, sent in zip(visitors, unacknowledged, strict=True):
        if sent is not None:  # what the page does: the same request again
            in_doubt += 1
            answer = visitor.session.send(sent, allow_redirects=False, timeout=TIMEOUT_S)
            assert answer.status_code == 303, answer.text
    assert in_doubt > 0, "no one was in the middle of an answer: the test has shown nothing"
    keys = [str(key) for key in Judgment.objects.values_list("idempotency_key", flat=True)]
    assert len(keys) == len(set(keys)) == n_acknowledged + in_doubt
    assert burst.acknowledged.keys() <= set(keys)

    for visitor in visitors:
        page = visitor.open()  # from the study's link to wherever they were
        while not page.url.endswith("/debrief/"):
            page = visitor.go_on(page, side="A", **RATED)
        visitor.go_on(page)
        visitor.session.close()
    assert Participant.objects.finished().count() == N_PEOPLE
    assert Judgment.objects.count() == Trial.objects.count() == N_PEOPLE * open_study.n_trials


RAW = {
    "64 kB of path": b"GET /s/" + b"x" * 65_536 + b"/ HTTP/1.1\r\n{host}\r\n\r\n",
    "a NUL byte in the path": b"GET {page}\x00 HTTP/1.1\r\n{host}\r\n\r\n",
    "a quoted NUL in the cookie of who signs in": b'GET /lab/ HTTP/1.1\r\n{host}\r\nCookie: sessionid="aaaaaaaaaaaa\\000b"\r\n\r\n',
    "another host": b"GET {page} HTTP/1.1\r\nHost: evil.example.org\r\n\r\n",
    "a length below nothing": b"POST {page} HTTP/1.1\r\n{host}\r\nContent-Length: -5\r\n\r\nx",
    "half a chunk": b"POST {page} HTTP/1.1\r\n{host}\r\nTransfer-Encoding: chunked\r\n{form}\r\n\r\n9\r\nside",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
}


def test_requests_that_are_hardly_http_get_a_clear_refusal(server: Server, study: Study) -> None:
    before = stored()
    for name, request in RAW.items():
        request = request.replace(b"{page}", study.get_absolute_url().encode())
        request = request.replace(b"{host}", b"Connection: close\r\nHost: 127.0.0.1")
        status, text = send_bytes(
            server.url, request.replace(b"{form}", f"Content-Type: {FORM}".encode())
        )
        assert 400 <= status < 500, (name, status)
        assert re.search(r"<title>[^<]*\w", text), (name, text)
        assert "<h1" in text, (name, text)
    assert stored() == before


def test_a_form_cut_off_on_its_way_is_not_taken_for_the_whole(server: Server, study: Study) -> None:
    at = open_page(study, "debrief", enforce_csrf_checks=True)
    page = at.client.get(at.address).content.decode()
    fields = hidden_fields(page) | {"comments": "A long remark that is only half sent"}
    body = urlencode(fields).encode()
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in at.client.cookies.items())
    head = (
        f"POST {at.address} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Cookie: {cookies}\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    before = stored()
    status, text = send_bytes(server.url, head.encode() + body[:-10])
    assert (status, stored() == before) == (400, True), text
    assert "Nothing was changed" in text
    status, text = send_bytes(server.url, head.encode() + body)
    assert status == 303, text
    assert Participant.objects.get().comments == "A long remark that is only half sent"


@pytest.mark.both
def test_50_copies_of_every_post_at_once_count_once(server: Server, open_study: Study) -> None:
    home, n_trials = open_study.get_absolute_url(), open_study.n_trials
    filled_in = {"side": "B", **RATED}

    def right() -> dict[str, str]:
        return {"side": taking_part.practice_side(Participant.objects.get()), **RATED}

    with Visitor(server.url, open_study.slug) as visitor:

        def send(fields: dict[str, str], page: str = "") -> list[requests.Response]:
            copies = send_copies(visitor.prepare(visitor.open(page), **fields), N_COPIES)
            # Every copy of consent was given the cookie of the same participant
            visitor.session.cookies.update(copies[-1].cookies)
            return copies

        def sent_once(fields: dict[str, str], next_page: str) -> None:
            """All copies get the same next page: none fails, none is refused."""
            answers = [
                answer.headers.get("Location") or answer.json()["next"] for answer in send(fields)
            ]
            assert Counter(answers) == {f"{home}{next_page}/": N_COPIES}

        sent_once({"agree": "yes"}, "about-you")
        sent_once(ABOUT_ME, "practice")
        sent_once(right(), "start")
        person = Participant.objects.get()
        assert (person.practice_attempts, person.demographics["age"]) == (1, "34")
        sent_once({}, "trial/1")
        sent_once(filled_in, "trial/2")
        judgment = Judgment.objects.get()
        assert (judgment.trial.position, judgment.side, judgment.confidence) == (1, "B", 70)
        page = visitor.open()
        for _ in range(2, n_trials + 1):
            page = visitor.go_on(page, **filled_in)
        sent_once({"cheated": "1", "comments": "Thanks"}, "done")
        person.refresh_from_db()
        assert (person.stage, person.cheated, person.comments) == ("finished", True, "Thanks")
        assert Judgment.objects.count() == Trial.objects.count() == n_trials
        copies = send({"code": person.withdrawal_code, "confirm": "1"}, "withdraw/")
        assert {response.status_code for response in copies} == {200}
        assert Participant.objects.get().stage == "withdrawn"
        assert not Judgment.objects.exists()


@pytest.mark.both
def test_passwords_tried_at_once_are_compared_a_few_times(server: Server, study: Study) -> None:
    """With the site's own hashing, which takes a core for a tenth of a second."""
    make_user("ruth", study)
    address = f"{server.url}/lab/sign-in/"

    def attempt(password: str) -> str:
        with requests.Session() as session:
            session.trust_env = False
            fields = hidden_fields(session.get(address, timeout=TIMEOUT_S).text)
            sent = fields | {"username": "ruth", "password": password}
            answer = session.post(address, sent, timeout=TIMEOUT_S, allow_redirects=False)
            if answer.status_code == 302:
                return "in"
            return next((kind for said, kind in SAID.items() if said in answer.text), "unknown")

    said = Counter(at_once([lambda n=n: attempt(f"guess-{n}") for n in range(N_GUESSES)]))
    assert 0 < said["wrong"] <= MOST_ATTEMPTS
    assert said["wrong"] + said["too many"] + said["busy"] == N_GUESSES
    for n in range(said["wrong"], MOST_ATTEMPTS):
        assert attempt(f"later-{n}") == "wrong"
    assert attempt("ruth") == "too many"
