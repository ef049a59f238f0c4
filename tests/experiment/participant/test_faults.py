"""What no page sends, sent in its forms: a refusal with a clear page, nothing stored, and never a 500."""

import re
import uuid
from typing import Any
from urllib.parse import urlencode

import pytest

from experiment.models import Judgment, Participant, Study
from tests.experiment.http_client import Server, hidden_fields, send_bytes
from tests.experiment.people import ABOUT_ME, PAGES, open_page, stored
from tests.experiment.refusals import (
    FORM,
    HUGE,
    LONG,
    assert_refused,
    send_raw,
)

pytestmark = pytest.mark.django_db

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

# page, field, value that it refuses, status: 422 where a person can correct it, 400 where the page cannot send it
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
        for field in (
            "rt_choice_ms",
            "rt_final_choice_ms",
            "rt_ms",
            "confidence_first_ms",
            "expertise_last_ms",
            "hidden_ms",
            "blur_count",
            "changes",
            "aid_switches",
            "reloads",
        )
        for value in ("-1", "0.5", "1e400", "abc", "9999999999999", HUGE)
    ),
    *(("trial", field, "100001", 400) for field in ("viewport_width", "viewport_height")),
    *((page, "recognised", "maybe", 400) for page in ("practice", "trial")),
    *(
        (page, field, "", 422)
        for page in ("practice", "trial")
        for field in ("trial_token", "idempotency_key", "side")
    ),
    *((page, "recognised", "", 422) for page in ("practice", "trial")),
    ("trial", "trial_token", str(uuid.uuid4()), 403),
    ("debrief", "comments", "x" * 5_001, 422),
    ("withdraw", "code", "x" * 101, 400),
    ("withdraw", "code", "AAAA-AAAA-AAAA", 422),
    ("withdraw", "code", "", 422),
]


@pytest.fixture
def study(open_study: Study) -> Study:
    return open_study


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
    POISONS,
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


def multipart(fields: dict[str, Any]) -> bytes:
    parts = (
        f'--frontier\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    return ("".join(parts) + "--frontier--\r\n").encode()


MULTIPART = "multipart/form-data; boundary=frontier"


@pytest.mark.parametrize("page", [page for page in PAGES if page != "start"])  # which asks nothing
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
        (FORM, form + b"&" + b"&".join(b"a%d=1" % n for n in range(6_000))),
        (FORM, form + b"&comments=" + b"x" * 2_000_000),
        (f"{FORM}; charset=utf-16", form),
    ):
        if page == "debrief" and content_type in ("application/json", "text/plain", "", MULTIPART):
            continue  # read as an empty form, in which nothing that it asks is missing
        assert_refused(at.client.generic("POST", at.address, body, content_type=content_type))
        assert stored() == before, content_type


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
