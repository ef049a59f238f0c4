"""The headers for browsers: the same on every answer, by every part of the site."""

import json
import logging
import re
from http.cookies import SimpleCookie
from typing import Any

import pytest
from csp.constants import HEADER
from django.conf import settings as site
from django.db import OperationalError, connections
from django.http import HttpResponse
from django.test import Client

from config import policies
from config.policies import MOST_A_MINUTE, Reports
from tests.factories import make_user

pytestmark = pytest.mark.django_db

FORM = "application/x-www-form-urlencoded"
FOREIGN = f"{FORM}; charset=utf-7"
TOO_LARGE = {"CONTENT_LENGTH": str(site.UPLOAD_MAX_SIZE + 1)}
SAME = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": site.PERMISSIONS_POLICY,
}
ALWAYS = {
    "default-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self' https:",
    "report-uri": "/csp-reports",
}


def policy_of(answer: HttpResponse) -> dict[str, str]:
    parts = (f"{part.strip()} ".split(" ", 1) for part in answer[HEADER].split(";"))
    return {name: value.strip() for name, value in parts}


def assert_told(answer: HttpResponse, *, is_admin: bool = False) -> None:
    assert {name: answer.headers.get(name) for name in SAME} == SAME
    policy = policy_of(answer)
    assert {name: policy.get(name) for name in ALWAYS} == ALWAYS
    assert "unsafe" not in answer[HEADER]
    if is_admin:
        assert policy["script-src"] == "'self'"
    else:
        assert policy["require-trusted-types-for"] == "'script'"
        assert policy["trusted-types"] == "own-pages"
        assert re.fullmatch("('nonce-[A-Za-z0-9+/=]{24}')?", policy["script-src"])


@pytest.mark.parametrize(
    ("method", "address", "more", "status"),
    [
        ("GET", "/healthz", {}, 200),
        ("GET", "/static/js/lab.js", {}, 200),
        ("GET", "/static/js/none.js", {}, 404),
        ("GET", "/", {}, 302),
        ("GET", "/lab", {}, 301),
        ("GET", "/lab/", {}, 302),
        ("GET", "/lab/sign-in/", {}, 200),
        ("GET", "/s/none/", {}, 404),
        ("GET", "/api/v1/studies/", {}, 401),
        ("GET", "/api/v1/none/", {}, 404),
        ("POST", "/healthz", {}, 405),
        ("POST", "/lab/sign-in/", {}, 403),
        ("POST", "/lab/sign-in/", {"content_type": FOREIGN}, 400),
        ("POST", "/lab/sign-in/", TOO_LARGE, 400),
        ("GET", "/lab/?x=%00", {}, 400),
        ("GET", "/lab/", {"HTTP_HOST": "evil.example"}, 400),
        ("GET", "/admin/", {}, 302),
        ("GET", "/admin/login/", {}, 302),
    ],
)
def test_every_answer_says_the_same(
    method: str, address: str, more: dict[str, Any], status: int
) -> None:
    client = Client(enforce_csrf_checks=status == 403)
    sent = "x=1" if method == "POST" else ""
    answer = client.generic(method, address, sent, **({"content_type": FORM} | more))
    assert answer.status_code == status
    assert_told(answer, is_admin=address.startswith("/admin/"))
    answer.close()


@pytest.mark.parametrize(("error", "status"), [(ValueError, 500), (OperationalError, 503)])
@pytest.mark.parametrize("address", ["/s/memory/", "/api/v1/studies/"])
def test_answers_to_faults_say_it_too(
    address: str, error: type[Exception], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(type(connections["default"]), "ensure_connection", fail)
    client = Client(
        raise_request_exception=False, headers={"Authorization": "Bearer bbl_" + "x" * 43}
    )
    answer = client.get(address)
    assert answer.status_code == status
    assert_told(answer)


def test_each_page_has_a_nonce_of_its_own_and_no_other_script(client: Client) -> None:
    answers = [client.get("/lab/sign-in/") for _ in range(2)]
    sources = {policy_of(answer)["script-src"] for answer in answers}
    assert len(sources) == 2
    for answer in answers:
        nonce = policy_of(answer)["script-src"].removeprefix("'nonce-").rstrip("'")
        page = answer.content.decode()
        assert page.count("<script") == page.count(f'<script type="module" nonce="{nonce}"') > 0


def test_the_administration_runs_its_own_files_alone(client: Client) -> None:
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    answer = client.get("/admin/")
    assert answer.status_code == 200
    assert_told(answer, is_admin=True)
    assert not [part for part in answer.content.decode().split("<script")[1:] if "src=" not in part]


def test_a_report_is_counted_and_says_nothing_of_people(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    n = policies.reports.n
    page = "https://lab.example.org/s/memory/trial/3/?PROLIFIC_PID=5f3a"
    report = {
        "document-uri": page,
        "effective-directive": "script-src-elem",
        "blocked-uri": "https://evil.example/x.js?who=5f3a",
        "script-sample": "5f3a",
    }
    sent = json.dumps({"csp-report": report})
    answer = Client(enforce_csrf_checks=True).generic(
        "POST", "/csp-reports", sent, content_type="application/csp-report"
    )
    assert (answer.status_code, policies.reports.n) == (204, n + 1)
    policies.reports.n = n
    assert "script-src-elem" in caplog.text
    assert "evil.example" in caplog.text
    assert "5f3a" not in caplog.text
    assert "memory" not in caplog.text


def test_a_report_of_any_shape_or_length_is_answered(client: Client) -> None:
    def send(body: str) -> int:
        return client.generic("POST", "/csp-reports", body, "application/csp-report").status_code

    assert send("[" * 100_000) == 413
    n = policies.reports.n
    for body in ("", "[]", "{", '{"csp-report": 1}', "{}", "[" * 15_000):
        assert (send(body), policies.reports.n) == (400, n)
    depths = range(10, 1200, 3)  # some are read and could not be written again
    nested = (f'{{"csp-report": {{"document-uri": {"[" * d}{"]" * d}}}}}' for d in depths)
    assert {send(body) for body in nested} <= {204, 400}
    policies.reports.n = n


def test_reports_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    reports = Reports(lambda: now)
    with caplog.at_level(logging.WARNING):
        for _ in range(10 * MOST_A_MINUTE):
            reports.count("x")
        assert (reports.n, len(caplog.records)) == (10 * MOST_A_MINUTE, MOST_A_MINUTE)
        now = 61.0
        reports.count("x")
    assert len(caplog.records) == MOST_A_MINUTE + 1


def test_cookies_of_a_site_over_http_are_out_of_reach_of_scripts(client: Client) -> None:
    client.get("/lab/sign-in/")
    assert isinstance(client.cookies, SimpleCookie)
    assert all(cookie["httponly"] and cookie["samesite"] for cookie in client.cookies.values())
