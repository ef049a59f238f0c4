"""What should never be sent, sent: a refusal with a clear page, nothing stored, and never a 500."""

import re
import uuid
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client

from experiment import enrollment
from experiment.models import Judgment, Participant, Study
from tests.experiment.http_client import Server, hidden_fields, send_bytes
from tests.experiment.people import ABOUT_ME, PAGES, AtPage, open_page, stored
from tests.factories import make_study

pytestmark = pytest.mark.django_db
refuses_unreadable = pytest.mark.xfail(
    "experiment.participant.readable.RefuseUnreadable" not in settings.MIDDLEWARE,
    reason="settings.MIDDLEWARE lacks experiment.participant.readable.RefuseUnreadable",
)

FORM = "application/x-www-form-urlencoded"
LONG = "x" * 65_536
HUGE = "9" * 5_000
POISONS = {
    "a NUL byte": "%00",
    "a NUL byte at the end": "A%00",
    "64 kB": LONG,
    "invalid UTF-8": "%ff%fe",
    "half a surrogate pair": "%ed%a0%80",
}
# A tick counts as made whatever its value; a comment may hold anything, undecodable bytes as U+FFFD.
TICKS = {"reminded", "cheated", "age_declined", "experience_years_declined"}
HARMLESS = {("comments", "invalid UTF-8"), ("comments", "half a surrogate pair")}

# page, field, value that it refuses, status: 422 where a person can mend it, 400 where the page cannot send it
REFUSED = [
    ("consent", "agree", "maybe", 422),
    ("consent", "agree", "", 422),
    ("consent", "consent_sha256", "0" * 64, 409),
    ("consent", "consent_sha256", "", 409),
    *(("about-you", "gender", value, 422) for value in ("", "robot", "FEMALE")),
    *(
        ("about-you", "age_number", value, 422)
        for value in ("", "17", "121", "-34", "34.5", "1e3", "abc", HUGE)
    ),
    *(("about-you", "country", value, 422) for value in ("", "XX", "Germany")),
    *(("about-you", "position", value, 422) for value in ("", "king")),
    *(
        ("about-you", "experience_years_number", value, 422)
        for value in (
            "",
            "-1",
            "91",
            "1.23",
            "NaN",
            "Infinity",
            "1e400",
            "1e999999999",
            "abc",
            HUGE,
        )
    ),
    *(
        (page, field, value, 400)
        for page in ("practice", "trial")
        for field, value in (
            ("trial_token", "17"),
            ("trial_token", "{}"),
            ("idempotency_key", "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"),
            ("side", "C"),
            ("side", "a"),
            ("side", "AB"),
        )
    ),
    *(
        ("trial", field, value, 400)
        for field in ("confidence", "expertise")
        for value in ("0", "101", "-1", "1.5", "1e400", "NaN", "abc", "0x10", "½", HUGE)
    ),
    *(
        ("trial", field, value, 400)
        for field in ("rt_choice_ms", "rt_ms", "hidden_ms", "blur_count", "changes", "reloads")
        for value in ("-1", "0.5", "1e400", "abc", "9999999999999", HUGE)
    ),
    *(("trial", field, "100001", 400) for field in ("viewport_width", "viewport_height")),
    ("trial", "recognised", "maybe", 400),
    *(
        (page, field, "", 422)
        for page in ("practice", "trial")
        for field in ("trial_token", "idempotency_key", "side")
    ),
    ("trial", "recognised", "", 422),
    ("trial", "trial_token", str(uuid.uuid4()), 409),
    ("debrief", "comments", "x" * 5_001, 422),
    ("withdraw", "code", "x" * 101, 400),
    ("withdraw", "code", "AAAA-AAAA-AAAA", 422),
    ("withdraw", "code", "", 422),
]


@pytest.fixture
def study(open_study: Study) -> Study:
    return open_study


def assert_refused(response: HttpResponse, *statuses: int) -> None:
    """A refusal that a person can read."""
    assert response.status_code in (statuses or range(400, 500)), response.status_code
    text = response.content.decode()
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response["Cache-Control"].find("no-store") >= 0
    assert re.search(r"<title>[^<]*\w[^<]*</title>", text)
    assert "<h1" in text
    assert re.search(r"<p[ >]", text)


def send_raw(at: AtPage, changes: dict[str, str]) -> HttpResponse:
    """Send a page's form with values that are percent-encoded already."""
    fields = {name: quote(value) for name, value in at.fields.items()} | changes
    body = "&".join(f"{name}={value}" for name, value in fields.items())
    return at.client.generic("POST", at.address, body, content_type=FORM)


@pytest.mark.parametrize("page", PAGES)
def test_a_form_filled_in_as_asked_is_taken(study: Study, page: str) -> None:
    at = open_page(study, page)
    before = stored()
    assert at.send().status_code == (200 if page == "withdraw" else 303)
    assert stored() != before


@pytest.mark.parametrize("page", PAGES)
def test_values_that_a_field_does_not_take_are_refused_with_a_page_and_change_nothing(
    study: Study, page: str
) -> None:
    at = open_page(study, page)
    before = stored()
    for name, field, value, status in REFUSED:
        if name == page:
            response = at.send(**{field: value})
            assert response.status_code == status, (field, value[:20], response.status_code)
            assert_refused(response, status)
            assert stored() == before, (field, value[:20])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "poison",
    [pytest.param(name, marks=[refuses_unreadable] if "NUL" in name else []) for name in POISONS],
)
def test_bytes_that_are_no_text_and_endless_values_are_refused_in_every_field(
    study: Study, page: str, poison: str
) -> None:
    at = open_page(study, page)
    before = stored()
    ticks = TICKS if "NUL" not in poison else set()
    extra = ("age_declined", "experience_years_declined") if page == "about-you" else ("unknown",)
    for field in (*at.fields, *extra):
        if field in ticks or (field, poison) in HARMLESS or (field == "unknown" and ticks):
            continue
        assert_refused(send_raw(at, {field: POISONS[poison]}))
        assert stored() == before, field


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", ["%00", LONG, "%ff", "%ed%a0%80"], ids=list("0LFS"))
def test_query_parameters_never_break_a_page(study: Study, page: str, value: str) -> None:
    at = open_page(study, page)
    before = stored()
    for name in (
        "x",
        "PROLIFIC_PID",
        "STUDY_ID",
        "id",
        "workerId",
        "simulated",
        "%00",
        "a" * 65_536,
    ):
        response = at.client.get(f"{at.address}?{name}={value}")
        assert response.status_code in (200, 302, 303, 400), (name[:20], response.status_code)
        if response.status_code == 400:
            assert_refused(response, 400)
    assert stored() == before


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
    "signed by nobody": "ImEi:1abcde:" + "x" * 43,
    "not text": "\xff\xfe\xed\xa0\x80",
    "64 kB": LONG,
    "quoted NUL": '"aaaaaaaaaaaa\\000b"',
}


@pytest.mark.parametrize("value", COOKIE_VALUES.values(), ids=COOKIE_VALUES.keys())
def test_forged_cookies_make_nobody_known(study: Study, value: str) -> None:
    at = open_page(study, "trial")
    before = stored()
    for name in (f"bb-participant-{study.pk}", f"bb-entry-{study.pk}"):
        client = Client(raise_request_exception=False, headers={"cookie": f"{name}={value}"})
        response = client.get(at.address)
        assert response.status_code in (302, 400)
        if response.status_code == 302:
            assert response["Location"] == study.get_absolute_url()
        assert_refused(client.post(at.address, at.fields), 400, 403)
        consent = {"agree": "yes", "consent_sha256": study.consent.sha256}
        assert_refused(client.post(study.get_absolute_url(), consent), 400)
    assert stored() == before


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(value, id=name, marks=[refuses_unreadable] if "NUL" in name else [])
        for name, value in COOKIE_VALUES.items()
    ],
)
@pytest.mark.parametrize("name", ["sessionid", "csrftoken", "messages"])
def test_other_forged_cookies_never_break_the_entry(study: Study, name: str, value: str) -> None:
    client = Client(raise_request_exception=False, headers={"cookie": f"{name}={value}"})
    for address in (study.get_absolute_url(), "/lab/", "/nowhere/"):
        response = client.get(address)
        assert response.status_code in (200, 302, 400, 404), (address, response.status_code)


def test_a_cookie_changed_in_one_place_or_of_another_study_is_nobodys(study: Study) -> None:
    other = make_study("other", recruitment="open")
    at = open_page(study, "trial")
    name = f"bb-participant-{study.pk}"
    mine = at.client.cookies[name].value
    for value in (mine[:-1] + ("A" if mine[-1] != "A" else "B"), "x" + mine, mine + ":x", mine[5:]):
        at.client.cookies[name] = value
        assert_refused(at.send(), 403)
    at.client.cookies[f"bb-participant-{other.pk}"] = mine
    response = at.client.get(f"{other.get_absolute_url()}trial/2/")
    assert (response.status_code, response["Location"]) == (302, other.get_absolute_url())
    assert Judgment.objects.count() == 1


def test_a_page_without_a_cookie_sends_to_the_entry_and_takes_no_form(study: Study) -> None:
    for page in PAGES[1:5]:
        at = open_page(study, page)
        before = stored()
        stranger = Client(raise_request_exception=False)
        response = stranger.get(at.address)
        assert (response.status_code, response["Location"]) == (302, study.get_absolute_url())
        assert_refused(stranger.post(at.address, at.fields), 403)
        assert stored() == before
    consent = {"agree": "yes", "consent_sha256": study.consent.sha256}
    assert_refused(Client().post(study.get_absolute_url(), consent), 400)


@pytest.mark.parametrize("page", PAGES)
def test_a_form_without_its_csrf_token_is_refused(study: Study, page: str) -> None:
    at = open_page(study, page, enforce_csrf_checks=True)
    before = stored()
    for token in ({}, {"csrfmiddlewaretoken": ""}, {"csrfmiddlewaretoken": LONG}):
        assert_refused(at.send(**token), 403)
    assert_refused(send_raw(at, {"csrfmiddlewaretoken": "%00"}), 400, 403)
    assert stored() == before
    fields = hidden_fields(at.client.get(at.address).content.decode())
    response = at.send(csrfmiddlewaretoken=fields["csrfmiddlewaretoken"])
    assert response.status_code in (200, 303)


@pytest.mark.parametrize("page", PAGES)
def test_other_methods_are_not_allowed(study: Study, page: str) -> None:
    at = open_page(study, page)
    before = stored()
    for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"):
        response = at.client.generic(method, at.address, urlencode(at.fields), content_type=FORM)
        assert response.status_code == 405, method
        assert response["Allow"] == "GET, POST"
    assert stored() == before


def test_addresses_that_no_page_has_are_not_found(study: Study) -> None:
    at = open_page(study, "trial")
    home = study.get_absolute_url()
    for path in (
        "/s/%00/",
        "/s/%ff/",
        f"/s/{LONG}/",
        f"{home}trial/%00/",
        f"{home}trial/-1/",
        f"{home}trial/1.5/",
        f"{home}trial/{HUGE}/",
        f"{home}trial/abc/",
        "/static/%00.css",
        "/s/unknown-study/trial/1/",
    ):
        assert_refused(at.client.get(path), 400, 404)
        assert_refused(at.client.post(path, at.fields), 400, 404, 405)


def multipart(fields: dict[str, Any]) -> bytes:
    parts = (
        f'--frontier\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    return ("".join(parts) + "--frontier--\r\n").encode()


MULTIPART = "multipart/form-data; boundary=frontier"


@pytest.mark.parametrize("page", PAGES)
def test_bodies_of_another_kind_are_refused(study: Study, page: str) -> None:
    at = open_page(study, page)
    before = stored()
    form = urlencode(at.fields).encode()
    for content_type, body in (
        ("application/json", b'{"side": "A", "agree": "yes"}'),
        ("text/plain", form),
        ("", form),
        ("multipart/form-data", form),
        (MULTIPART, form),
        ("multipart/form-data; boundary=\xe9", form),
        (MULTIPART, multipart(at.fields).replace(b'"\r\n', b'"; filename="a.txt"\r\n')),
        (FORM, form + b"&" + b"&".join(b"a%d=1" % n for n in range(2_000))),
        (FORM, form + b"&comments=" + b"x" * 2_000_000),
        (f"{FORM}; charset=utf-16", form),
    ):
        if page == "debrief" and content_type in ("application/json", "text/plain", "", MULTIPART):
            continue  # read as an empty form, in which nothing that it asks is missing
        assert_refused(at.client.generic("POST", at.address, body, content_type=content_type))
        assert stored() == before, content_type


@refuses_unreadable
@pytest.mark.parametrize("charset", ["hex", "undefined", "utf-7", "unicode_escape", "idna"])
def test_a_charset_that_yields_no_text_is_refused(study: Study, charset: str) -> None:
    at = open_page(study, "debrief")
    before = stored()
    body = multipart({"comments": "+2AA- \\ud800"})
    kind = f"{MULTIPART}; charset={charset}"
    assert_refused(at.client.generic("POST", at.address, body, content_type=kind), 400)
    assert_refused(at.client.get(at.address, CONTENT_TYPE=f"text/plain; charset={charset}"), 400)
    assert stored() == before


def test_a_multipart_form_is_read_like_any_other(study: Study) -> None:
    at = open_page(study, "trial")
    response = at.client.generic("POST", at.address, multipart(at.fields), content_type=MULTIPART)
    assert response.status_code == 303
    assert Judgment.objects.count() == 2


@pytest.mark.parametrize(
    "comment",
    [
        "Ça va 👩🏽‍🔬 — مرحبا \u202eabc\u202c שלום 数字",
        "x" * 5_000,
        "👍" * 5_000,
        "<script>alert(1)</script> {{ x }} %s ' \" --",
        "one\ntwo\n\nthree",
    ],
    ids=["scripts", "longest", "astral", "code", "lines"],
)
def test_comments_are_kept_as_they_were_typed(study: Study, comment: str) -> None:
    at = open_page(study, "debrief")
    sent_by_browsers = comment.replace("\n", "\r\n")
    assert at.send(comments=sent_by_browsers).status_code == 303
    assert Participant.objects.get().comments == comment


def test_line_breaks_count_once_in_a_comment_as_they_do_in_the_browser(study: Study) -> None:
    at = open_page(study, "debrief")
    assert at.send(comments="\r\n".join(["a"] * 2_500)).status_code == 303


def test_a_comment_that_is_too_long_comes_back_whole_to_be_shortened(study: Study) -> None:
    at = open_page(study, "debrief")
    comment = "y" * 5_000 + "<"
    response = at.send(comments=comment)
    assert_refused(response, 422)
    assert "y" * 5_000 + "&lt;</textarea>" in response.content.decode()
    assert " checked" in response.content.decode()
    assert Participant.objects.get().stage == "debrief"


def test_digits_of_other_scripts_are_digits(study: Study) -> None:
    at = open_page(study, "about-you")
    fields = ABOUT_ME | {"age_number": "\uff13\uff14"}
    assert at.client.post(at.address, fields).status_code == 303
    assert Participant.objects.get().demographics["age"] == "34"


def test_what_was_filled_in_comes_back_with_a_refusal(study: Study) -> None:
    at = open_page(study, "trial")
    text = at.send(side="", confidence="33", recognised="yes").content.decode()
    assert 'value="33"' in text
    assert re.search(r'value="yes" checked', text)
    assert hidden_fields(text)["trial_token"] == at.fields["trial_token"]


RAW = {
    "64 kB of query": b"GET {page}?x=" + b"x" * 65_536 + b" HTTP/1.1\r\n{host}\r\n\r\n",
    "64 kB of path": b"GET /s/" + b"x" * 65_536 + b"/ HTTP/1.1\r\n{host}\r\n\r\n",
    "64 kB of cookie": b"GET {page} HTTP/1.1\r\n{host}\r\nCookie: a=" + b"x" * 65_536 + b"\r\n\r\n",
    "2,000 headers": b"GET {page} HTTP/1.1\r\n{host}\r\n" + b"X-A: b\r\n" * 2_000 + b"\r\n",
    "a NUL byte in the path": b"GET {page}\x00 HTTP/1.1\r\n{host}\r\n\r\n",
    "an encoded NUL in the path": b"GET {page}%00/ HTTP/1.1\r\n{host}\r\n\r\n",
    "a NUL byte in a cookie": b"GET {page} HTTP/1.1\r\n{host}\r\nCookie: a=\x00\r\n\r\n",
    "bytes that are no text in the path": b"GET /s/\xff\xfe/ HTTP/1.1\r\n{host}\r\n\r\n",
    "another host": b"GET {page} HTTP/1.1\r\nHost: evil.example.org\r\n\r\n",
    "a length that is no number": b"POST {page} HTTP/1.1\r\n{host}\r\nContent-Length: abc\r\n\r\n",
    "a length below nothing": b"POST {page} HTTP/1.1\r\n{host}\r\nContent-Length: -5\r\n\r\nx",
    "a broken chunk": b"POST {page} HTTP/1.1\r\n{host}\r\nTransfer-Encoding: chunked\r\n{form}\r\n\r\nzz\r\n",
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


@refuses_unreadable
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


@refuses_unreadable
def test_a_nul_in_the_signing_in_cookie_is_refused(server: Server, study: Study) -> None:
    for path in (study.get_absolute_url(), "/lab/"):
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        cookie = 'Cookie: sessionid="aaaaaaaaaaaa\\000b"\r\n\r\n'
        status, text = send_bytes(server.url, (request + cookie).encode())
        assert status == 400, text


def test_a_ping_never_breaks(study: Study) -> None:
    at = open_page(study, "trial")
    address = f"{study.get_absolute_url()}ping/"
    assert at.client.post(address, {"x": LONG}).status_code == 204
    assert at.client.get(address).status_code == 405
    assert Client().post(address).status_code == 204
    assert Client().post("/s/unknown/ping/").status_code == 404
    assert enrollment.may_resume(at.person, at.person.last_seen_at)
