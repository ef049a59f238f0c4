"""Cookies behind TLS: names that nobody else can set, and participants who came before these were introduced."""

from http.cookies import Morsel
from typing import Any

import pytest
from django.test import Client

from experiment.models import Participant, Study
from tests.experiment.http_client import hidden_fields
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


def test_who_was_under_way_before_the_names_changed_goes_on_with_the_page_that_was_open(
    study: Study, settings: Any
) -> None:
    before = Visit(study, secure=False)
    before.open()
    before.send(agree="yes")
    person = Participant.objects.get()
    before.open()  # questions about them, not answered yet
    behind_tls(settings)
    after = Visit(study, secure=True)
    after.client.cookies = before.client.cookies.copy()
    after.page = before.page
    answer = after.send("about-you/", **ABOUT_ME)
    assert (answer.status_code, answer["Location"]) == (303, f"/s/{study.slug}/practice/")
    person.refresh_from_db()
    assert person.demographics["age"] == "34"
    secret = answer.cookies["__Host-csrftoken"]
    assert secret.value != before.client.cookies["csrftoken"].value, "somebody else may have set it"
    for name in (f"bb-participant-{study.pk}", f"bb-entry-{study.pk}", "csrftoken"):
        assert_host_cookie(answer.cookies[f"__Host-{name}"])
        assert answer.cookies[name]["max-age"] == 0, "the earlier one is deleted"
    earlier_age = before.client.cookies[f"bb-participant-{study.pk}"]["max-age"]
    assert answer.cookies[f"__Host-bb-participant-{study.pk}"]["max-age"] == earlier_age
    assert answer.cookies[f"bb-participant-{study.pk}"]["path"] == f"/s/{study.slug}/"
    assert after.open().status_code == 200
    assert Participant.objects.get() == person


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


@pytest.mark.parametrize("beside", ["", "not signed"])
def test_a_secret_of_forms_that_another_host_set_is_taken_from_nobody(
    study: Study, settings: Any, beside: str
) -> None:
    planted = "a" * 32
    behind_tls(settings)
    visit = Visit(study, secure=True)
    visit.client.cookies["csrftoken"] = planted
    if beside:
        visit.client.cookies[f"bb-participant-{study.pk}"] = beside
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
