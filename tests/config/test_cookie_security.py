"""Cookies behind TLS: names that nobody else can set, and no other that is believed."""

import io
import re
import sys
from http.cookies import Morsel
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from config.requests import Request
from experiment.models import Participant, Study
from tests.experiment.http_client import ROOT, hidden_fields
from tests.experiment.people import ABOUT_ME
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open")


def behind_tls(settings: Any) -> None:
    """As HTTPS=1 sets it (tests/config/test_settings.py)."""
    settings.COOKIE_PREFIX = "__Host-"
    settings.SESSION_COOKIE_NAME = "__Host-sessionid"
    settings.CSRF_COOKIE_NAME = "__Host-csrftoken"
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True


class Visit:
    """Somebody on their way, over TLS or not."""

    def __init__(self, study: Study, *, secure: bool) -> None:
        self.study, self.secure = study, secure
        self.client = Client(enforce_csrf_checks=True)
        self.page = ""

    def open(self, path: str = "") -> Any:
        answer = self.client.get(f"/s/{self.study.slug}/{path}", secure=self.secure, follow=True)
        self.page = answer.content.decode()
        return answer

    def send(self, path: str = "", **filled_in: str) -> Any:
        fields = hidden_fields(self.page) | filled_in
        headers = {"referer": "https://testserver/"}
        address = f"/s/{self.study.slug}/{path}"
        return self.client.post(address, fields, secure=self.secure, headers=headers)


def assert_host_cookie(cookie: "Morsel[str]") -> None:
    assert cookie.key.startswith("__Host-")
    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_no_number_of_links_that_a_browser_follows_makes_its_requests_too_long(
    study: Study, settings: Any
) -> None:
    """Servers refuse 8 kB of cookies, and all cookies of a whole site come with each request."""
    behind_tls(settings)
    visit = Visit(study, secure=True)
    visit.open()
    assert visit.send(agree="yes").status_code == 303
    taking_part = f"__Host-bb-participant-{study.pk}"
    ids = "&".join(f"{name}={'a' * 128}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
    for n in range(15):
        other = make_study(f"other-{n}", recruitment="open")
        visit.client.get(f"{other.get_absolute_url()}?{ids}", secure=True)
        sent = {
            name: one.value for name, one in visit.client.cookies.items() if one["max-age"] != 0
        }
        assert sum(len(f"{name}={value}; ") for name, value in sent.items()) < 6000
        assert f"__Host-bb-entry-{other.pk}" in sent
    assert taking_part in sent, "visits go before a participant does"
    visit.client.cookies["foreign"] = "x" * 7000
    more = make_study("more", recruitment="open")
    answer = visit.client.get(more.get_absolute_url(), secure=True)
    assert taking_part not in answer.cookies, "what another host sets deletes nothing"
    del visit.client.cookies["foreign"]
    for n in range(60):  # in the order of their names, as this client sends them
        visit.client.cookies[f"__Host-bb-participant-x{n:02}"] = "x" * 80
    answer = visit.client.get(
        make_study("last", recruitment="open").get_absolute_url(), secure=True
    )
    gone = {name for name, one in answer.cookies.items() if one["max-age"] == 0}
    assert taking_part in gone, "the oldest first"
    assert "__Host-bb-participant-x59" not in gone
    assert 20 < len(gone) < 60


def test_every_cookie_behind_tls_is_this_hosts_alone(study: Study, settings: Any) -> None:
    behind_tls(settings)
    visit = Visit(study, secure=True)
    visit.open()
    assert visit.send(agree="yes").status_code == 303
    person = Participant.objects.get()
    make_user("ruth", study)
    sign_in = visit.client.get("/lab/sign-in/", secure=True).content.decode()
    filled_in = hidden_fields(sign_in) | {"username": "ruth", "password": "ruth"}
    referer = {"referer": "https://testserver/"}
    visit.client.post("/lab/sign-in/", filled_in, secure=True, headers=referer)
    assert {name.removeprefix("__Host-") for name in visit.client.cookies} == {
        "csrftoken",
        "sessionid",
        f"bb-entry-{study.pk}",
        f"bb-participant-{study.pk}",
    }
    for cookie in visit.client.cookies.values():
        assert_host_cookie(cookie)
    assert visit.open().redirect_chain[-1][0].endswith("/about-you/")
    assert Participant.objects.get() == person


def test_a_cookie_that_another_host_can_set_identifies_nobody(study: Study, settings: Any) -> None:
    """An attacker's own cookies, signed by this site, under the names that any host beside it may set."""
    behind_tls(settings)
    attacker = Visit(study, secure=True)
    attacker.open()
    attacker.send(agree="yes")
    theirs = Participant.objects.get()
    make_user("mallory", study)
    attacker.client.force_login(User.objects.get(username="mallory"))
    planted = {
        name.removeprefix("__Host-"): morsel.value
        for name, morsel in attacker.client.cookies.items()
    }
    assert {*planted} >= {"sessionid", f"bb-participant-{study.pk}", f"bb-entry-{study.pk}"}
    for path in ("", "about-you/", "practice/", "done/", "return/", "withdraw/"):
        victim = Visit(study, secure=True)
        for name, value in planted.items():
            victim.client.cookies[name] = value
        answer = victim.open(path)
        assert theirs.withdrawal_code not in victim.page
        given = {name: morsel.value for name, morsel in answer.cookies.items()}
        assert all(name.startswith("__Host-") for name in given), "an earlier one is not touched"
        assert not {*given.values()} & {*planted.values()}
        sent = victim.client.post(
            f"/s/{study.slug}/about-you/",
            {**ABOUT_ME, "csrfmiddlewaretoken": planted["csrftoken"]},
            secure=True,
            headers={"referer": "https://testserver/"},
        )
        assert sent.status_code == 403
        assert not any("participant" in name for name in sent.cookies)
        assert victim.client.get("/lab/", secure=True).status_code == 302
    theirs.refresh_from_db()
    assert (theirs.stage, theirs.demographics) == ("demographics", {})
    assert Participant.objects.count() == 1


def test_a_visitor_with_a_planted_cookie_is_asked_for_consent_and_answers_as_themselves(
    study: Study, settings: Any
) -> None:
    behind_tls(settings)
    attacker, victim = Visit(study, secure=True), Visit(study, secure=True)
    attacker.open()
    attacker.send(agree="yes")
    name = f"bb-participant-{study.pk}"
    victim.client.cookies[name] = attacker.client.cookies[f"__Host-{name}"].value
    victim.open()
    assert "Informed consent" in victim.page
    victim.send(agree="yes")
    victim.open()
    victim.send("about-you/", **ABOUT_ME)
    first, own = Participant.objects.order_by("pk")
    assert (first.demographics, own.demographics["age"]) == ({}, "34")


SPACES = [chr(code) for code in range(sys.maxunicode) if chr(code).isspace()]


@given(
    before=st.text(st.sampled_from([*SPACES, "\0", "\ufeff", "a"]), max_size=3),
    after=st.text(st.sampled_from([*SPACES, "\0", "\ufeff", "a"]), max_size=3),
    name=st.sampled_from(["sessionid", "csrftoken", "bb-participant-1", "bb-entry-1"]),
)
def test_a_name_that_browsers_do_not_guard_is_never_read_as_one_that_they_guard(
    before: str, after: str, name: str
) -> None:
    """Spaces of the header itself aside, which browsers take away before they guard."""
    sent = f"a=1; {before}__Host-{name}{after}=planted; b=2"
    header = sent.encode().decode("latin-1")  # as servers hand it over
    environ = {"REQUEST_METHOD": "GET", "wsgi.input": io.BytesIO(), "HTTP_COOKIE": header}
    read = Request(environ).COOKIES
    is_guarded = not (before + after).strip(" ")
    assert (f"__Host-{name}" in read) == is_guarded
    assert (read["a"], read["b"]) == ("1", "2")


def test_every_cookie_that_the_site_reads_has_the_name_that_nobody_else_can_set() -> None:
    """Code that reads or writes one by a name of its own would be a second door."""
    places = {
        str(path.relative_to(ROOT))
        for folder in ("config", "lib", "experiment", "scoring", "analysis")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(
            r"\bCOOKIES\b|set_cookie|set_signed_cookie|get_signed_cookie", path.read_text()
        )
    }
    assert places == {
        "config/middleware.py",  # looks for NUL characters
        "config/requests.py",  # leaves out foreign names
        "experiment/lab/access.py",  # SESSION_COOKIE_NAME
        "experiment/participant/identity.py",  # COOKIE_PREFIX
    }
    reads = (ROOT / "experiment/participant/identity.py").read_text()
    assert len(re.findall("COOKIES", reads)) == 3
    assert set(re.findall(r"COOKIES\b.*", reads)) == {
        "COOKIES.items() if name.startswith(own)}",  # to delete what is too much
        "COOKIES.items():",
        'COOKIES.get(cookie, ""))',
    }


def test_a_cookie_that_another_host_set_never_replaces_ones_own(
    study: Study, settings: Any
) -> None:
    behind_tls(settings)
    mine, theirs = Visit(study, secure=True), Visit(study, secure=True)
    for visit in (mine, theirs):
        visit.open()
        visit.send(agree="yes")
    own, other = Participant.objects.order_by("pk")
    name = f"bb-participant-{study.pk}"
    mine.client.cookies[name] = theirs.client.cookies[f"__Host-{name}"].value
    mine.open()
    mine.send("about-you/", **ABOUT_ME)
    own.refresh_from_db()
    other.refresh_from_db()
    assert (own.stage, other.stage) == ("practice", "demographics")


def test_a_secret_of_forms_that_another_host_set_is_taken_from_nobody(
    study: Study, settings: Any
) -> None:
    planted = "a" * 32
    behind_tls(settings)
    visit = Visit(study, secure=True)
    visit.client.cookies["csrftoken"] = planted
    visit.open()
    assert visit.client.cookies["__Host-csrftoken"].value != planted
    del visit.client.cookies["__Host-csrftoken"]
    sent = visit.client.post(
        f"/s/{study.slug}/",
        {"agree": "yes", "csrfmiddlewaretoken": planted},
        secure=True,
        headers={"referer": "https://testserver/"},
    )
    assert sent.status_code == 403
    assert not Participant.objects.exists()


def test_nobody_is_signed_in_by_a_cookie_of_the_earlier_name(study: Study, settings: Any) -> None:
    client = Client()
    client.force_login(make_user("ruth", study))
    assert client.get("/lab/").status_code == 200
    behind_tls(settings)
    after = Client()
    after.cookies["sessionid"] = client.cookies["sessionid"].value
    assert after.get("/lab/", secure=True).status_code == 302
