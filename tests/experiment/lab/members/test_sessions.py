"""A sign-in has a key of its own, ends at the server, and ends by itself."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from experiment.models import AuditEvent, Participant, Study
from experiment.services.chores import forget_ended_sessions
from experiment.services.sign_in import IDLE, LONGEST
from experiment.services.study_setup import set_recruitment
from tests.experiment.lab.members.codes import shown_by_app, switch_on
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> Any:
    return make_user("ruth", make_study())


def sign_in(client: Client, user: Any) -> Client:
    sent = {"username": user.username, "password": user.username}
    assert client.post("/lab/sign-in/", sent).status_code == 302
    return client


def key_of(client: Client) -> str:
    return client.cookies["sessionid"].value


def with_key(key: str) -> Client:
    client = Client()
    client.cookies["sessionid"] = key
    return client


def is_in(client: Client) -> bool:
    return client.get("/lab/").status_code == 200


def set_clock(monkeypatch: pytest.MonkeyPatch, at: Any) -> None:
    monkeypatch.setattr("experiment.services.sign_in.timezone.now", lambda: at)


def test_a_key_that_somebody_else_chose_is_never_signed_in(client: Client, user: Any) -> None:
    planted = with_key("a" * 32)
    sign_in(planted, user)
    assert key_of(planted) != "a" * 32
    assert not is_in(with_key("a" * 32))
    session = client.session  # one that the site itself gave to somebody else
    session["x"] = 1
    session.save()
    known = key_of(client)
    sign_in(client, user)
    assert key_of(client) != known
    assert not is_in(with_key(known))


def test_the_second_step_has_a_new_key(user: Any, settings: Any) -> None:
    settings.REQUIRE_TOTP = True
    client = sign_in(Client(), user)
    first = key_of(client)
    device, _ = switch_on(user)
    client.post("/lab/sign-in/code/", {"code": shown_by_app(device)})
    assert is_in(client)
    assert key_of(client) != first
    assert not Session.objects.filter(session_key=first).exists()


@pytest.mark.parametrize("change", ["password", "codes on", "codes off", "button"])
def test_what_changes_how_one_signs_in_ends_all_other_sign_ins(user: Any, change: str) -> None:
    here, other = Client(), Client()
    device = switch_on(user)[0] if change == "codes off" else None
    for browser in (here, other):
        browser.force_login(user)
    bystander = Client()
    bystander.force_login(make_user("vera", make_study("other")))
    first = key_of(here)
    if change == "password":
        new = "seven grey herons"
        sent = {"old_password": "ruth", "new_password1": new, "new_password2": new}
        here.post("/lab/account/", sent)
    elif change == "codes on":
        here.get("/lab/account/codes/")
        here.post("/lab/account/codes/", {"code": shown_by_app(user.totpdevice_set.get())})
    elif change == "codes off":
        here.post("/lab/account/codes/change/", {"code": shown_by_app(device), "off": ""})
    else:
        here.post("/lab/account/elsewhere/")
        assert AuditEvent.objects.get(action="signed_out").details == {"sign_ins": 1}
    assert is_in(here)
    assert not is_in(other)
    assert is_in(bystander)
    assert (key_of(here) == first) is (change == "button")


def test_signing_out_ends_the_sign_in_at_the_server(client: Client, user: Any) -> None:
    key = key_of(sign_in(client, user))
    client.post("/lab/sign-out/")
    assert not is_in(with_key(key))
    assert not Session.objects.filter(session_key=key).exists()


def test_a_sign_in_that_nobody_uses_ends(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(Client(), user)
    start, almost = timezone.now(), IDLE - timedelta(minutes=10)
    set_clock(monkeypatch, start + almost)
    assert is_in(client)
    set_clock(monkeypatch, start + 2 * almost)
    assert is_in(client), "it was used in between"
    set_clock(monkeypatch, start + 2 * almost + IDLE + timedelta(seconds=1))
    assert not is_in(client)
    assert not Session.objects.exists()


def test_a_page_that_keeps_itself_current_is_nobodys_use(
    user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(Client(), user)
    start = timezone.now()
    for hours in range(1, 12):
        set_clock(monkeypatch, start + timedelta(hours=hours))
        assert client.get("/lab/studies/memory/live/").status_code == 200
    set_clock(monkeypatch, start + IDLE + timedelta(seconds=1))
    assert client.get("/lab/studies/memory/live/").status_code == 302


def test_after_a_week_one_signs_in_again(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(Client(), user)
    start, step = timezone.now(), IDLE / 2
    for n in range(1, LONGEST // step):
        set_clock(monkeypatch, start + n * step)
        assert is_in(client)
    set_clock(monkeypatch, start + LONGEST + timedelta(seconds=1))
    assert not is_in(client)


def test_sign_ins_that_ran_out_are_neither_opened_nor_kept(
    user: Any, client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    unused, used = Client(), Client()
    start = timezone.now()
    for browser in (unused, used):
        browser.force_login(user)
    set_clock(monkeypatch, start + IDLE / 2)
    assert is_in(used)
    set_clock(monkeypatch, start + IDLE + timedelta(minutes=1))
    client.force_login(user)
    opened: list[str] = []
    decoded = Session.get_decoded
    monkeypatch.setattr(Session, "get_decoded", lambda row: opened.append(row.pk) or decoded(row))
    assert client.get("/lab/account/").context["n_elsewhere"] == 1
    assert opened == [key_of(used)]
    age = timedelta(seconds=settings.SESSION_COOKIE_AGE)
    set_clock(monkeypatch, start + age + timedelta(minutes=1))
    forget_ended_sessions()
    assert {row.pk for row in Session.objects.all()} == {key_of(used), key_of(client)}


def test_a_sign_in_that_has_ended_opens_no_preview(
    user: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = set_recruitment(Study.objects.get(slug="memory"), "open")
    address = study.get_absolute_url()
    agreed = {"agree": "yes", "consent_sha256": study.consent.sha256}
    later = Client()
    for browser in (client, later):
        browser.force_login(user)
        browser.get(address)
    client.post(address, agreed)
    set_clock(monkeypatch, timezone.now() + IDLE + timedelta(seconds=1))
    later.post(address, agreed)
    kinds = Participant.objects.order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["pilot", "real"], "a member's, then anybody's"
    assert not Session.objects.filter(session_key=key_of(later)).exists()
