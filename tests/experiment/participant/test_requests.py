"""Addresses, cookies, methods and bytes that no browser sends: a refusal that can be read, and never a 500."""

import re

import pytest
from django.test import Client

from experiment.models import Judgment, Study
from experiment.services import taking_part
from tests.experiment.http_client import Server, hidden_fields, send_bytes
from tests.experiment.people import PAGES, decide, open_page, stored
from tests.experiment.refusals import FORM, LONG, assert_refused
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "query",
    [
        "PROLIFIC_PID=%00",
        "PROLIFIC_PID=a%0ab",
        f"PROLIFIC_PID={LONG}",
        f"PROLIFIC_PID=5f3a&SESSION_ID={LONG}",
        f"id={'x' * 129}",
        "workerId=A1&hitId=%00",
        "simulated=yes",
        f"simulated={LONG}",
    ],
    ids=lambda query: query[:30],
)
def test_an_entry_link_with_impossible_ids_is_refused(study: Study, query: str) -> None:
    client = Client(raise_request_exception=False)
    assert_refused(client.get(f"{study.get_absolute_url()}?{query}"), 400)
    assert "bb-entry" not in "".join(client.cookies)


COOKIE_VALUES = {
    "empty": "",
    "garbage": "garbage",
    "signed by no one": "ImEi:1abcde:" + "x" * 43,
    "not text": "\xff\xfe\xed\xa0\x80",
    "64 kB": LONG,
    "quoted NUL": '"aaaaaaaaaaaa\\000b"',
}


@pytest.mark.parametrize("value", COOKIE_VALUES.values(), ids=COOKIE_VALUES.keys())
def test_forged_cookies_make_nobody_known_and_break_no_page(study: Study, value: str) -> None:
    at = open_page(study, "trial")
    before = stored()

    def bringing(name: str) -> Client:
        return Client(raise_request_exception=False, headers={"cookie": f"{name}={value}"})

    for name in (f"bb-participant-{study.pk}", f"bb-entry-{study.pk}"):
        assert_refused(bringing(name).get(at.address), 400, 403)
        assert_refused(bringing(name).post(at.address, at.fields), 400, 403)
        assert_refused(decide(study, bringing(name)), 400)
    for name in ("sessionid", "csrftoken", "messages"):
        for address in (study.get_absolute_url(), "/lab/", "/nowhere/"):
            response = bringing(name).get(address)
            assert response.status_code in (200, 302, 400, 404), (address, response.status_code)
    assert stored() == before


def test_a_cookie_changed_in_one_place_or_of_another_study_is_nobodys(study: Study) -> None:
    other = make_study("other", recruitment="open")
    at = open_page(study, "trial")
    name = f"bb-participant-{study.pk}"
    mine = at.client.cookies[name].value
    for value in (mine[:-1] + ("A" if mine[-1] != "A" else "B"), "x" + mine, mine + ":x", mine[5:]):
        at.client.cookies[name] = value
        assert_refused(at.send(), 403)
    at.client.cookies[f"bb-participant-{other.pk}"] = mine
    assert_refused(at.client.get(f"{other.get_absolute_url()}trial/2/"), 403)
    assert Judgment.objects.count() == 1


def test_a_page_without_a_cookie_names_the_study_and_the_ways_back_and_takes_no_form(
    study: Study,
) -> None:
    for page in PAGES[1:5]:
        at = open_page(study, page)
        before = stored()
        stranger = Client(raise_request_exception=False)
        response = stranger.get(at.address)
        assert_refused(response, 403)
        for shown in (study.title, study.contact, study.get_absolute_url(), 'name="code"'):
            assert shown in response.content.decode()
        assert_refused(stranger.post(at.address, at.fields), 403)
        assert stored() == before
    assert_refused(decide(study, Client()), 400)


@pytest.mark.parametrize("page", PAGES)
def test_a_form_without_its_csrf_token_is_refused(study: Study, page: str) -> None:
    at = open_page(study, page, enforce_csrf_checks=True)
    before = stored()
    for token in ({}, {"csrfmiddlewaretoken": ""}, {"csrfmiddlewaretoken": LONG}):
        assert_refused(at.send(**token), 403)
    assert stored() == before
    fields = hidden_fields(at.client.get(at.address).content.decode())
    response = at.send(csrfmiddlewaretoken=fields["csrfmiddlewaretoken"])
    assert response.status_code in (200, 303)


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


def test_a_ping_never_breaks(study: Study) -> None:
    at = open_page(study, "trial")
    address = f"{study.get_absolute_url()}ping/"
    assert at.client.post(address, {"x": LONG}).status_code == 204
    assert at.client.get(address).status_code == 405
    assert Client().post(address).status_code == 204
    assert Client().post("/s/unknown/ping/").status_code == 404
    assert taking_part.may_resume(at.person, at.person.last_seen_at)
