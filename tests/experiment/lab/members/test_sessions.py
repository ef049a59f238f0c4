"""A sign-in has a key of its own, ends at the server, and ends by itself."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from experiment.models import AuditEvent, Participant, Study
from experiment.services.chores import forget_ended_sessions
from experiment.services.sign_in import IDLE, LONGEST
from experiment.services.study_setup import set_recruitment
from lib.sessions import SessionStore, stored
from tests.experiment.http_client import ROOT
from tests.experiment.lab.members.codes import shown_by_app, switch_on
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
[MIGRATION] = (ROOT / "experiment" / "migrations").glob("*_sessions_under_a_digest.py")
digest_keys = import_module(f"experiment.migrations.{MIGRATION.stem}").digest_keys


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


def test_a_row_of_the_table_is_no_cookie_and_tells_none(user: Any) -> None:
    client = sign_in(Client(), user)
    [row] = Session.objects.all()
    assert row.pk == stored(key_of(client))
    assert not is_in(with_key(row.pk))
    columns = " ".join(map(str, vars(row).values())) + str(row.get_decoded())
    assert key_of(client) not in columns
    assert is_in(client)


def test_every_way_of_changing_a_session_goes_by_the_digest(user: Any) -> None:
    session = SessionStore()
    session["x"] = 1
    session.save()
    first = str(session.session_key)
    assert SessionStore(first)["x"] == 1
    assert session.exists(first)
    assert not session.exists(stored(first))
    session.cycle_key()
    assert (SessionStore(first).load(), SessionStore(session.session_key)["x"]) == ({}, 1)
    assert [row.pk for row in Session.objects.all()] == [stored(session.session_key)]
    session["x"] = 2
    session.save()
    assert SessionStore(session.session_key)["x"] == 2
    session.flush()
    assert not Session.objects.exists()
    SessionStore().flush()


@pytest.mark.both
def test_an_upgrade_keeps_members_signed_in_and_leaves_no_key(user: Any) -> None:
    """Rows of the release before, whose names are the cookies' keys."""
    client, other = sign_in(Client(), user), sign_in(Client(), user)
    for browser in (client, other):
        Session.objects.filter(pk=stored(key_of(browser))).update(session_key=key_of(browser))
    assert not is_in(with_key(key_of(client)))
    for _ in range(2):  # a migration that is repeated changes nothing
        digest_keys(apps, connection.schema_editor())
    assert {row.pk for row in Session.objects.all()} == {
        stored(key_of(browser)) for browser in (client, other)
    }
    assert is_in(client)
    client.post("/lab/account/elsewhere/")
    assert (is_in(client), is_in(other)) == (True, False)


def test_the_second_step_has_a_new_key(user: Any, settings: Any) -> None:
    settings.REQUIRE_TOTP = True
    client = sign_in(Client(), user)
    first = key_of(client)
    device, _ = switch_on(user)
    client.post("/lab/sign-in/code/", {"code": shown_by_app(device)})
    assert is_in(client)
    assert key_of(client) != first
    assert not Session.objects.filter(session_key=stored(first)).exists()


@pytest.mark.parametrize("change", ["password", "codes on", "codes off", "button"])
def test_changing_how_one_signs_in_ends_all_other_sign_ins(user: Any, change: str) -> None:
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
    assert not Session.objects.filter(session_key=stored(key)).exists()


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
    assert opened == [stored(key_of(used))]
    age = timedelta(seconds=settings.SESSION_COOKIE_AGE)
    set_clock(monkeypatch, start + age + timedelta(minutes=1))
    forget_ended_sessions()
    assert {row.pk for row in Session.objects.all()} == {
        stored(key_of(browser)) for browser in (used, client)
    }


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
    assert not Session.objects.filter(session_key=stored(key_of(later))).exists()
